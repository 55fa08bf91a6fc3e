// Which bytes of a memory are meant, and in which order: rows at a distance, or pieces anywhere. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace laneway::flow {

/// Elements side by side, `first` of them behind the start of a memory.
struct piece {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// A loop over rows: `count` times, `bytes` further each time; backwards where that is below 0.
struct stride {
    std::uint64_t count = 0;
    std::int64_t bytes = 0;
};

/// Bytes side by side, in the packed order from byte `packed` on, in memory from `offset` on.
struct layout_run {
    std::uint64_t packed = 0;
    std::int64_t offset = 0;
};

/// Rows of equal length that lie next to each other when packed, and `pitch` bytes apart in memory.
struct layout_rows {
    std::uint64_t packed;
    std::int64_t offset;
    std::uint64_t row_bytes;
    std::uint64_t rows;
    std::uint64_t pitch;  ///< meaningless where there is one row
};

/// Maps the bytes of a packed message to those of a memory. Immutable.
class layout {
public:
    static constexpr std::size_t max_levels = 8;

    /// Rows of `row_bytes` under loops, the outermost first. Throws usage_error for rows without bytes, for more than
    /// max_levels loops, and where the bytes of all cannot be counted.
    static layout strided(std::size_t row_bytes, std::vector<stride> levels);
    /// Pieces of a memory of `extent` elements. Throws usage_error for those that are not within it.
    static layout scattered(std::size_t element_bytes, std::int64_t extent, const std::vector<piece>& pieces);

    /// Of the packed message.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] bool is_scattered() const { return scattered_; }
    /// Of strided ones.
    [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }
    [[nodiscard]] const std::vector<stride>& levels() const { return levels_; }
    /// Of scattered ones, the one that holds a packed byte; then come those behind it.
    [[nodiscard]] std::size_t run_with(std::uint64_t packed) const;
    [[nodiscard]] const std::vector<layout_run>& runs() const { return runs_; }
    [[nodiscard]] std::uint64_t end_of(std::size_t run) const {
        return run + 1 < runs_.size() ? runs_[run + 1].packed : bytes_;
    }

    /// Throws usage_error where a byte of the memory may be meant twice: nothing could be stored there.
    void require_disjoint() const;
    /// Runs that hold `bytes` from a packed byte on, and calls of for_each_rows that they take.
    [[nodiscard]] std::uint64_t runs_in(std::uint64_t begin, std::uint64_t bytes) const;
    [[nodiscard]] std::uint64_t calls_for(std::uint64_t begin, std::uint64_t bytes) const;
    /// Calls `visit(layout_rows)` for all of them, as many rows at once as lie at one distance that is not below their
    /// length.
    template <class Visit>
    void for_each_rows(std::uint64_t begin, std::uint64_t bytes, Visit&& visit) const {
        const std::uint64_t end = begin + bytes;
        if (scattered_) {
            std::uint64_t at = begin;
            for (std::size_t run = bytes == 0 ? 0 : run_with(begin); at < end; ++run) {
                const std::uint64_t next = end_of(run) < end ? end_of(run) : end;
                visit(layout_rows{at, runs_[run].offset + static_cast<std::int64_t>(at - runs_[run].packed), next - at,
                                  1, 0});
                at = next;
            }
            return;
        }
        for (std::uint64_t at = begin; at < end;) {
            const layout_rows some = rows_at(at, end - at);
            visit(some);
            at += some.rows * some.row_bytes;
        }
    }

private:
    [[nodiscard]] layout_rows rows_at(std::uint64_t packed, std::uint64_t bytes) const;  ///< of strided ones
    [[nodiscard]] bool steps_over_rows() const;

    std::uint64_t bytes_ = 0;
    bool scattered_ = false;
    std::uint64_t row_bytes_ = 0;
    std::vector<stride> levels_;
    std::vector<layout_run> runs_;
};

}  // namespace laneway::flow
