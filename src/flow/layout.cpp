#include "laneway/flow/layout.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway::flow {

namespace {

constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// The product, or usage_error where a memory cannot have so many bytes.
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    if (b != 0 && a > most / b) throw usage_error("a layout of more bytes than a memory can have");
    return a * b;
}

std::uint64_t size_of(std::int64_t distance) {
    return distance < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(distance)
                        : static_cast<std::uint64_t>(distance);
}

/// Makes one loop of two where the outer goes on where the inner ends, and one row of rows that lie side by side;
/// returns the bytes of a row then.
std::uint64_t join(std::uint64_t row_bytes, std::vector<stride>& levels) {
    std::vector<stride> joined;
    for (const stride& level : levels) {
        if (level.count == 1) continue;
        const bool goes_on =
            !joined.empty() && joined.back().bytes == level.bytes * static_cast<std::int64_t>(level.count);
        if (goes_on) {
            joined.back() = {joined.back().count * level.count, level.bytes};
        } else {
            joined.push_back(level);
        }
    }
    while (!joined.empty() && joined.back().bytes == static_cast<std::int64_t>(row_bytes)) {
        row_bytes *= joined.back().count;
        joined.pop_back();
    }
    levels = std::move(joined);
    return row_bytes;
}

std::string told(const piece& one) {
    return "a piece of " + std::to_string(one.count) + " elements from element " + std::to_string(one.first) + " on";
}

}  // namespace

layout layout::strided(std::size_t row_bytes, std::vector<stride> levels) {
    if (row_bytes == 0) throw usage_error("a layout has rows of 0 bytes");
    layout made;
    made.bytes_ = times(row_bytes, 1);
    for (const stride& level : levels) {
        made.bytes_ = times(made.bytes_, level.count);
        (void)times(size_of(level.bytes), level.count);
    }
    made.row_bytes_ = made.bytes_ == 0 ? row_bytes : join(row_bytes, levels);
    if (made.bytes_ == 0) levels = {{0, 0}};
    if (levels.size() > max_levels) {
        throw usage_error("a layout has " + std::to_string(levels.size()) + " strides, at most " +
                          std::to_string(max_levels) + " are possible");
    }
    made.levels_ = std::move(levels);
    return made;
}

layout layout::scattered(std::size_t element_bytes, std::int64_t extent, const std::vector<piece>& pieces) {
    if (element_bytes == 0) throw usage_error("a layout has elements of 0 bytes");
    if (extent < 0) throw usage_error("a memory of " + std::to_string(extent) + " elements holds no pieces");
    (void)times(static_cast<std::uint64_t>(extent), element_bytes);
    layout made;
    made.scattered_ = true;
    made.runs_.reserve(pieces.size());
    for (const piece& one : pieces) {
        if (one.first < 0 || one.count < 0) throw usage_error(told(one) + ": neither number can be negative");
        if (one.first > extent || one.count > extent - one.first) {
            throw usage_error(told(one) + " is not within the memory of " + std::to_string(extent));
        }
        if (one.count == 0) continue;
        const auto size = static_cast<std::uint64_t>(one.count) * element_bytes;
        if (size > most - made.bytes_) throw usage_error("a layout of more bytes than a memory can have");
        made.runs_.push_back({made.bytes_, one.first * static_cast<std::int64_t>(element_bytes)});
        made.bytes_ += size;
    }
    return made;
}

std::size_t layout::run_with(std::uint64_t packed) const {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), packed,
                                         [](std::uint64_t at, const layout_run& run) { return at < run.packed; });
    return static_cast<std::size_t>(behind - runs_.begin()) - 1;
}

void layout::require_disjoint() const {
    const char* const why = "a target's pieces overlap: two elements of the message would go to one place";
    if (scattered_) {
        std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            const auto size = static_cast<std::int64_t>(end_of(i) - runs_[i].packed);
            ranges.emplace_back(runs_[i].offset, runs_[i].offset + size);
        }
        std::sort(ranges.begin(), ranges.end());
        for (std::size_t i = 1; i < ranges.size(); ++i) {
            if (ranges[i].first < ranges[i - 1].second) throw usage_error(why);
        }
        return;
    }
    if (bytes_ == 0) return;
    // Loops that lie within each other: each step leads out of all that the smaller ones cover.
    std::vector<stride> sorted = levels_;
    std::sort(sorted.begin(), sorted.end(),
              [](const stride& a, const stride& b) { return size_of(a.bytes) < size_of(b.bytes); });
    std::uint64_t covered = row_bytes_;
    for (const stride& level : sorted) {
        if (size_of(level.bytes) < covered) throw usage_error(why);
        covered += size_of(level.bytes) * (level.count - 1);
    }
}

std::uint64_t layout::runs_in(std::uint64_t begin, std::uint64_t bytes) const {
    if (bytes == 0) return 0;
    if (scattered_) return run_with(begin + bytes - 1) - run_with(begin) + 1;
    return (begin + bytes - 1) / row_bytes_ - begin / row_bytes_ + 1;
}

bool layout::steps_over_rows() const {
    constexpr std::size_t max_pitch = 0x7fffffff;  // of CUDA's copies of rows
    if (levels_.empty() || levels_.back().bytes < 0) return false;
    const std::size_t pitch = size_of(levels_.back().bytes);
    return pitch >= row_bytes_ && pitch <= max_pitch;
}

std::uint64_t layout::calls_for(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t runs = runs_in(begin, bytes);
    if (scattered_ || runs < 2 || !steps_over_rows()) return runs;
    // The first and the last row may be parts of rows, and so have calls of their own.
    const std::uint64_t last = begin + bytes, at_once = levels_.back().count;
    const std::uint64_t from = (begin + row_bytes_ - 1) / row_bytes_, to = last / row_bytes_;
    const std::uint64_t parts = (begin % row_bytes_ != 0 ? 1 : 0) + (last % row_bytes_ != 0 ? 1 : 0);
    return parts + (from < to ? (to - 1) / at_once - from / at_once + 1 : 0);
}

layout_rows layout::rows_at(std::uint64_t packed, std::uint64_t bytes) const {
    const std::uint64_t row = packed / row_bytes_, within = packed % row_bytes_;
    std::uint64_t left = row, steps_left = 1;
    auto offset = static_cast<std::int64_t>(within);
    for (std::size_t level = levels_.size(); level-- > 0;) {
        const std::uint64_t step = left % levels_[level].count;
        left /= levels_[level].count;
        offset += static_cast<std::int64_t>(step) * levels_[level].bytes;
        if (level + 1 == levels_.size()) steps_left = levels_[level].count - step;
    }
    if (within != 0 || bytes < row_bytes_) return {packed, offset, std::min(row_bytes_ - within, bytes), 1, 0};
    const std::uint64_t rows = steps_over_rows() ? std::min(steps_left, bytes / row_bytes_) : 1;
    return {packed, offset, row_bytes_, rows, rows > 1 ? size_of(levels_.back().bytes) : 0};
}

}  // namespace laneway::flow
