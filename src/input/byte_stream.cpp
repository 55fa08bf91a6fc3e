#include "laneway/input/byte_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/system_reason.hpp"
#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

#ifndef LANEWAY_HAS_ZLIB
#define LANEWAY_HAS_ZLIB 0
#endif
#ifndef LANEWAY_HAS_LZMA
#define LANEWAY_HAS_LZMA 0
#endif
#if LANEWAY_HAS_ZLIB
#include <zlib.h>
#endif
#if LANEWAY_HAS_LZMA
#include <lzma.h>
#endif

namespace laneway {
namespace {

constexpr std::size_t input_bytes = 64 * 1024;
constexpr std::string_view gzip_magic("\x1f\x8b", 2);
constexpr std::string_view xz_magic(
    "\xfd"
    "7zXZ\0",
    6);

usage_error unreadable(int error) { return usage_error("cannot be read: " + reason_of(error)); }

class plain_stream final : public byte_stream {
public:
    explicit plain_stream(const std::filesystem::path& path)
        : file_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        if (file_ < 0) throw usage_error(reason_of(errno));
    }
    ~plain_stream() override { ::close(file_); }
    plain_stream(const plain_stream&) = delete;
    plain_stream& operator=(const plain_stream&) = delete;

    std::size_t read(char* to, std::size_t size) override {
        std::size_t taken = 0;
        if (taken_ < head_size_) {
            taken = std::min(size, head_size_ - taken_);
            std::memcpy(to, head_ + taken_, taken);
            taken_ += taken;
        }
        return taken + fill(to + taken, size - taken);
    }

    /// The first bytes; they will still be read.
    std::string_view peek() {
        head_size_ = fill(head_, sizeof head_);
        return {head_, head_size_};
    }

private:
    std::size_t fill(char* to, std::size_t size) {
        std::size_t taken = 0;
        while (taken < size) {
            wait_for_bytes();
            const ssize_t more = ::read(file_, to + taken, size - taken);
            if (more < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (more < 0) throw unreadable(errno);
            if (more == 0) break;
            taken += static_cast<std::size_t>(more);
        }
        return taken;
    }

    // Of a pipe, whose writer may come late or never.
    void wait_for_bytes() const {
        constexpr int look_ms = 50;
        pollfd waiting{file_, POLLIN, 0};
        for (;;) {
            const int ready = ::poll(&waiting, 1, look_ms);
            if (ready > 0) return;
            if (ready < 0 && errno != EINTR && errno != EAGAIN) throw unreadable(errno);
            interruption::poll();
        }
    }

    int file_;
    char head_[8] = {};
    std::size_t head_size_ = 0;
    std::size_t taken_ = 0;
};

#if LANEWAY_HAS_ZLIB
class gzip_stream final : public byte_stream {
public:
    explicit gzip_stream(std::unique_ptr<byte_stream> from) : from_(std::move(from)), input_(input_bytes) {
        if (inflateInit2(&state_, 15 + 16) != Z_OK) throw system_error("no memory to decompress gzip");
    }
    ~gzip_stream() override { inflateEnd(&state_); }
    gzip_stream(const gzip_stream&) = delete;
    gzip_stream& operator=(const gzip_stream&) = delete;

    std::size_t read(char* to, std::size_t size) override {
        state_.next_out = reinterpret_cast<Bytef*>(to);
        state_.avail_out = static_cast<uInt>(size);
        while (state_.avail_out > 0) {
            if (state_.avail_in == 0 && !refill()) {
                if (inside_) throw usage_error("gzip data is cut off");
                break;
            }
            if (!inside_) start_member();
            const int result = inflate(&state_, Z_NO_FLUSH);
            if (result == Z_STREAM_END) {
                inside_ = false;
            } else if (result != Z_OK) {
                throw usage_error("gzip data is damaged");
            }
        }
        return size - state_.avail_out;
    }

private:
    bool refill() {
        state_.next_in = reinterpret_cast<Bytef*>(input_.data());
        state_.avail_in = static_cast<uInt>(from_->read(input_.data(), input_.size()));
        return state_.avail_in > 0;
    }

    // Several members in a row are one file, as gzip(1) has it; anything else after a member is garbage.
    void start_member() {
        if (*state_.next_in != 0x1f) throw usage_error("garbage after the end of the gzip data");
        inflateReset(&state_);
        inside_ = true;
    }

    std::unique_ptr<byte_stream> from_;
    std::vector<char> input_;
    z_stream state_{};
    bool inside_ = false;
};
#endif

#if LANEWAY_HAS_LZMA
class xz_stream final : public byte_stream {
public:
    explicit xz_stream(std::unique_ptr<byte_stream> from) : from_(std::move(from)), input_(input_bytes) {
        // The strongest preset needs 65 MiB; the limit keeps a damaged header from asking for all memory.
        constexpr std::uint64_t memory_limit_bytes = std::uint64_t{1} << 30;
        if (lzma_stream_decoder(&state_, memory_limit_bytes, LZMA_CONCATENATED) != LZMA_OK)
            throw system_error("no memory to decompress xz");
    }
    ~xz_stream() override { lzma_end(&state_); }
    xz_stream(const xz_stream&) = delete;
    xz_stream& operator=(const xz_stream&) = delete;

    std::size_t read(char* to, std::size_t size) override {
        state_.next_out = reinterpret_cast<std::uint8_t*>(to);
        state_.avail_out = size;
        while (state_.avail_out > 0 && !ended_) {
            if (state_.avail_in == 0 && action_ == LZMA_RUN) refill();
            const lzma_ret result = lzma_code(&state_, action_);
            if (result != LZMA_OK) finish(result);
        }
        return size - state_.avail_out;
    }

private:
    void refill() {
        state_.next_in = reinterpret_cast<std::uint8_t*>(input_.data());
        state_.avail_in = from_->read(input_.data(), input_.size());
        if (state_.avail_in == 0) action_ = LZMA_FINISH;
    }

    void finish(lzma_ret result) {
        // Less than a header of garbage looks like the cut-off beginning of another stream.
        if (result == LZMA_BUF_ERROR) throw usage_error("xz data is cut off or followed by garbage");
        if (result == LZMA_MEMLIMIT_ERROR) throw usage_error("xz data asks for over 1 GiB to decompress");
        if (result != LZMA_STREAM_END) throw usage_error("xz data is damaged or followed by garbage");
        ended_ = true;
    }

    std::unique_ptr<byte_stream> from_;
    std::vector<char> input_;
    lzma_stream state_ = LZMA_STREAM_INIT;
    lzma_action action_ = LZMA_RUN;
    bool ended_ = false;
};
#endif

}  // namespace

std::unique_ptr<byte_stream> open_stream(const std::filesystem::path& path) {
    std::error_code no_matter;  // what is wrong with the path, opening it will say
    if (std::filesystem::is_directory(path, no_matter)) throw usage_error("is a directory");
    auto file = std::make_unique<plain_stream>(path);
    const std::string_view head = file->peek();
    if (head.starts_with(gzip_magic)) {
#if LANEWAY_HAS_ZLIB
        return std::make_unique<gzip_stream>(std::move(file));
#else
        throw usage_error("this build reads no gzip files: zlib was missing when it was made");
#endif
    }
    if (head.starts_with(xz_magic)) {
#if LANEWAY_HAS_LZMA
        return std::make_unique<xz_stream>(std::move(file));
#else
        throw usage_error("this build reads no xz files: liblzma was missing when it was made");
#endif
    }
    return file;
}

}  // namespace laneway
