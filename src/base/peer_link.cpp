#include "peer_link.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

struct frame_header {
    std::uint64_t bytes = 0;
    note kind = note::contribution;
    std::uint32_t has_file = 0;
};

constexpr int max_files = 16;  ///< in one piece that is received

}  // namespace

peer_link::peer_link(file_handle socket) : socket_(std::move(socket)) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    pid_ = peer.pid;
    user_ = peer.uid;
}

void peer_link::send(note kind, const contribution& content) {
    if (ended_) return;
    const frame_header header{content.bytes.size(), kind, content.file ? 1u : 0u};
    frame next{std::string(reinterpret_cast<const char*>(&header), sizeof header) + content.bytes, 0, content.file};
    out_.push_back(std::move(next));
    flush();
}

void peer_link::progress() {
    if (ended_) return;
    flush();
    receive();
}

bool peer_link::take(message& taken) {
    if (come_.empty()) return false;
    taken = std::move(come_.front());
    come_.pop_front();
    return true;
}

void peer_link::flush() {
    while (!out_.empty()) {
        frame& next = out_.front();
        iovec piece{next.bytes.data() + next.sent, next.bytes.size() - next.sent};
        msghdr packet{};
        packet.msg_iov = &piece;
        packet.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        if (next.sent == 0 && next.file) {
            packet.msg_control = control.data();
            packet.msg_controllen = control.size();
            cmsghdr* const first = CMSG_FIRSTHDR(&packet);
            first->cmsg_level = SOL_SOCKET;
            first->cmsg_type = SCM_RIGHTS;
            first->cmsg_len = CMSG_LEN(sizeof(int));
            const int file = next.file.descriptor();
            std::memcpy(CMSG_DATA(first), &file, sizeof file);
        }
        const ssize_t sent = sendmsg(descriptor(), &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) {
            // Too many files on their way: the other side takes them out.
            if (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS) return;
            out_.clear();  // the other end is closed: what it had sent before can still be received
            return;
        }
        next.sent += static_cast<std::size_t>(sent);
        if (next.sent == next.bytes.size()) out_.pop_front();
    }
}

void peer_link::receive() {
    for (;;) {
        std::array<char, 16384> bytes;
        iovec piece{bytes.data(), bytes.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(max_files * sizeof(int))> control;
        msghdr packet{};
        packet.msg_iov = &piece;
        packet.msg_iovlen = 1;
        packet.msg_control = control.data();
        packet.msg_controllen = control.size();
        const ssize_t got = recvmsg(descriptor(), &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (got <= 0) {
            ended_ = true;
            break;
        }
        for (cmsghdr* part = CMSG_FIRSTHDR(&packet); part != nullptr; part = CMSG_NXTHDR(&packet, part)) {
            if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
            const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int file = -1;
                std::memcpy(&file, CMSG_DATA(part) + i * sizeof file, sizeof file);
                files_.emplace_back(file);
            }
        }
        if ((packet.msg_flags & MSG_CTRUNC) != 0) {
            throw system_error("a file of pid " + std::to_string(pid_) + " cannot be received: too many open files");
        }
        in_.append(bytes.data(), static_cast<std::size_t>(got));
    }
    read_frames();
}

void peer_link::read_frames() {
    std::size_t at = 0;
    frame_header header;
    while (in_.size() - at >= sizeof header) {
        std::memcpy(&header, in_.data() + at, sizeof header);
        if (in_.size() - at - sizeof header < header.bytes) break;
        message& next = come_.emplace_back();
        next.kind = header.kind;
        next.content.bytes = in_.substr(at + sizeof header, header.bytes);
        if (header.has_file != 0) {
            if (files_.empty()) throw process_error("a file of pid " + std::to_string(pid_) + " has not come");
            next.content.file = std::move(files_.front());
            files_.pop_front();
        }
        at += sizeof header + header.bytes;
    }
    in_.erase(0, at);
}

}  // namespace laneway
