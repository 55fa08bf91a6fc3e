// Lines of a text file, read in blocks and parsed where they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "laneway/input/byte_stream.hpp"

namespace laneway {

/// A token of a file, fit for a one-line message: short, with unprintable bytes as `?`.
std::string shown(std::string_view token);

class text_source {
public:
    static constexpr std::size_t longest_line_bytes = std::size_t{1} << 30;

    /// Opens `path` and reads its first block. Throws usage_error, also for an empty file where `may_be_empty` is not.
    /// Lines of more than `line_limit_bytes`, a power of two of at least 256 KiB, will be refused.
    explicit text_source(std::filesystem::path path, bool may_be_empty = false,
                         std::size_t line_limit_bytes = longest_line_bytes);

    /// The beginning of the text, whole where `sample_is_all()`; to be called before next_line().
    [[nodiscard]] std::string_view sample() const { return {buffer_.data(), end_}; }
    [[nodiscard]] bool sample_is_all() const { return ended_; }

    /// The next line without its end, valid until the next call; false at the end of the file.
    bool next_line(std::string_view& line);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Number of the line last read, from 1; 0 before the first.
    [[nodiscard]] std::uint64_t line_number() const { return line_number_; }

    /// Throws usage_error: file, number of the line last read if there is one, reason.
    [[noreturn]] void fail(const std::string& reason) const { fail_at(line_number_, reason); }

    /// The same for another line; 0 where no single one is at fault.
    [[noreturn]] void fail_at(std::uint64_t line_number, const std::string& reason) const;

private:
    bool fill();

    std::filesystem::path path_;
    std::unique_ptr<byte_stream> stream_;
    std::vector<char> buffer_;
    std::size_t line_limit_bytes_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t line_number_ = 0;
    bool ended_ = false;
};

}  // namespace laneway
