#include "local_joining.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/base/wait_limit.hpp"

namespace laneway {

namespace {

file_handle open_socket() {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) throw system_error(std::string("no socket: ") + std::strerror(errno));
    return file_handle(made);
}

/// Where a process of the job listens. Names in the abstract namespace go with their sockets.
struct socket_name {
    sockaddr_un address{};
    socklen_t size = 0;

    socket_name(const std::string& job, int rank) {
        const std::string name = "laneway." + std::to_string(geteuid()) + "." + job + "." + std::to_string(rank);
        if (name.size() + 1 > sizeof address.sun_path) throw usage_error("the name of the job is too long: " + job);
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }
    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

class job_joiner {
public:
    job_joiner(const std::string& name, int rank, int size, double timeout_seconds)
        : name_(name), rank_(rank), size_(size), timeout_seconds_(timeout_seconds),
          limit_(wait_limit::seconds(timeout_seconds)), links_(static_cast<std::size_t>(size)) {}

    std::vector<peer_link> join() {
        const file_handle listener = listen_here();
        for (int other = 0; other < rank_; ++other) connect_to(other);
        for (int missing = size_ - 1 - rank_; missing > 0; --missing) accept_one(listener);
        return std::move(links_);
    }

private:
    [[nodiscard]] std::string name_of(int other) const {
        return "process " + std::to_string(other) + " of job " + name_;
    }

    file_handle listen_here() const {
        file_handle listener = open_socket();
        const socket_name here(name_, rank_);
        if (bind(listener.descriptor(), here.get(), here.size) != 0) {
            if (errno == EADDRINUSE) throw usage_error(name_of(rank_) + " is running already");
            throw system_error("job " + name_ + ": a socket cannot be bound: " + std::strerror(errno));
        }
        if (listen(listener.descriptor(), size_) != 0) {
            throw system_error("job " + name_ + ": no process can connect: " + std::strerror(errno));
        }
        return listener;
    }

    void connect_to(int other) {
        const file_handle link = open_socket();
        const socket_name there(name_, other);
        while (connect(link.descriptor(), there.get(), there.size) != 0) {
            if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
                throw system_error(name_of(other) + " cannot be reached: " + std::strerror(errno));
            }
            if (limit_.is_over()) throw_late("waiting to reach " + name_of(other), timeout_seconds_);
            interruption::poll();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        peer_link made(link);
        if (made.user() != geteuid()) throw usage_error(name_of(other) + " is another user's");
        made.send(note::hello, {std::to_string(rank_) + " " + std::to_string(size_), {}});
        links_[static_cast<std::size_t>(other)] = std::move(made);
    }

    void accept_one(const file_handle& listener) {
        peer_link link = accept_own(listener);
        peer_link::message hello;
        while (!link.take(hello)) {
            if (link.ended()) throw process_error("job " + name_ + ": a process ended while it was joining");
            wait_for(link.descriptor());
            link.progress();
        }
        int other = 0, all = 0;
        if (hello.kind != note::hello || std::sscanf(hello.content.bytes.c_str(), "%d %d", &other, &all) != 2 ||
            other <= rank_ || other >= size_ || all != size_) {
            throw usage_error("job " + name_ + " of " + std::to_string(size_) + " processes: one joined that is '" +
                              hello.content.bytes + "', its rank and size");
        }
        links_[static_cast<std::size_t>(other)] = std::move(link);
    }

    /// Of processes of other users nobody takes notice.
    peer_link accept_own(const file_handle& listener) {
        for (;;) {
            const int taken = accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (taken < 0) {
                if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                    throw system_error("job " + name_ + ": a process cannot join: " + std::strerror(errno));
                }
                wait_for(listener.descriptor());
                continue;
            }
            peer_link link{file_handle(taken)};
            if (link.user() == geteuid()) return link;
        }
    }

    void wait_for(int descriptor) const {
        if (limit_.is_over()) throw_late("waiting for " + missing() + " to join", timeout_seconds_);
        interruption::poll();
        pollfd one{descriptor, POLLIN, 0};
        (void)poll(&one, 1, look_ms);
    }

    /// The processes that have not joined.
    [[nodiscard]] std::string missing() const {
        std::string list;
        for (int other = rank_ + 1; other < size_; ++other) {
            if (links_[static_cast<std::size_t>(other)].descriptor() >= 0) continue;
            list += (list.empty() ? "process " : ", ") + std::to_string(other);
        }
        return list + " of job " + name_;
    }

    std::string name_;
    int rank_;
    int size_;
    double timeout_seconds_;
    wait_limit limit_;
    std::vector<peer_link> links_;
};

}  // namespace

std::vector<peer_link> join_local_job(const std::string& name, int rank, int size, double timeout_seconds) {
    return job_joiner(name, rank, size, timeout_seconds).join();
}

void throw_late(const std::string& doing, double timeout_seconds) {
    std::ostringstream text;
    text << "deadline passed while " << doing << "; the deadline is " << timeout_seconds << " s";
    throw timeout_error(text.str());
}

}  // namespace laneway
