#include "laneway/input/text_source.hpp"

#include <algorithm>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/base/one_line.hpp"

namespace laneway {
namespace {

// A block that the second-level cache holds while it is decompressed and parsed.
constexpr std::size_t block_bytes = 256 * 1024;
constexpr std::size_t line_limit_bytes = std::size_t{1} << 30;

bool printable(char c) { return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f; }

bool binary(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && (byte < '\t' || byte > '\r');
}

}  // namespace

std::string shown(std::string_view token) {
    constexpr std::size_t longest = 40;
    std::string text(token.substr(0, longest));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return !printable(c); }, '?');
    return "'" + text + (token.size() > longest ? "...'" : "'");
}

text_source::text_source(std::filesystem::path path, bool may_be_empty) : path_(std::move(path)), buffer_(block_bytes) {
    try {
        stream_ = open_stream(path_);
    } catch (const usage_error& reason) {
        throw usage_error(one_line(path_.string() + ": " + reason.what()));
    }
    fill();
    if (end_ == 0 && !may_be_empty) throw usage_error(one_line(path_.string() + ": the file is empty"));
    if (const std::string_view text = sample(); std::any_of(text.begin(), text.end(), binary))
        throw usage_error(one_line(path_.string() + ": is neither text nor gzip nor xz"));
}

bool text_source::next_line(std::string_view& line) {
    std::size_t searched = 0;
    for (;;) {
        const char* begin = buffer_.data() + begin_;
        const std::size_t size = end_ - begin_;
        if (const void* found = std::memchr(begin + searched, '\n', size - searched)) {
            line = {begin, static_cast<const char*>(found)};
            begin_ += line.size() + 1;
            break;
        }
        searched = size;
        if (fill()) continue;
        if (size == 0) return false;
        line = {buffer_.data() + begin_, size};
        begin_ = end_;
        break;
    }
    ++line_number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
}

void text_source::fail_at(std::uint64_t line_number, const std::string& reason) const {
    const std::string place = line_number > 0 ? ":" + std::to_string(line_number) : "";
    throw usage_error(one_line(path_.string() + place + ": " + reason));
}

// Keeps the unread rest at the front; grows only for a line longer than the buffer.
bool text_source::fill() {
    if (ended_) return false;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size()) {
        if (buffer_.size() >= line_limit_bytes) fail("the line is longer than 1 GiB");
        buffer_.resize(buffer_.size() * 2);
    }
    try {
        const std::size_t wanted = buffer_.size() - end_;
        const std::size_t taken = stream_->read(buffer_.data() + end_, wanted);
        end_ += taken;
        ended_ = taken < wanted;
        return taken > 0;
    } catch (const usage_error& reason) {
        fail(reason.what());
    }
}

}  // namespace laneway
