// What the contract of allocators (allocator_suite.hpp) asks of each: to serve batches of requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace laneway::test {

/// A piece as its user knows it.
struct given_piece {
    std::byte* address = nullptr;
    std::size_t bytes = 0;   ///< asked for
    std::uint64_t seal = 0;  ///< what it is filled with

    friend bool operator==(const given_piece&, const given_piece&) = default;
};

/// One allocator over memory of its own.
class allocator_under_test {
public:
    allocator_under_test() = default;
    virtual ~allocator_under_test() = default;
    allocator_under_test(const allocator_under_test&) = delete;
    allocator_under_test& operator=(const allocator_under_test&) = delete;

    /// Sets the addresses of pieces of so many bytes, to null where there is no room.
    virtual void allocate(std::vector<given_piece>& pieces) = 0;
    virtual void deallocate(const std::vector<given_piece>& pieces) = 0;
    /// Fills each piece, to its last byte, with what its seal says.
    virtual void fill(const std::vector<given_piece>& pieces) = 0;
    /// Number of pieces that do not hold what they were filled with.
    virtual std::size_t broken(const std::vector<given_piece>& pieces) = 0;

    [[nodiscard]] virtual std::size_t capacity_bytes() const = 0;
    /// Sizes from 1 to this one are asked for.
    [[nodiscard]] virtual std::size_t max_bytes() const = 0;
    /// What a piece of so many bytes takes of the capacity, at most, where nothing is broken up.
    [[nodiscard]] virtual std::size_t taken_bytes(std::size_t bytes) const = 0;
    [[nodiscard]] virtual std::size_t alignment_of(std::size_t bytes) const = 0;
    /// Part of the capacity that pieces of mixed sizes, rounded up, fill without one being refused.
    [[nodiscard]] virtual double usable_part() const = 0;
    /// Whether pieces of one size, a power of two, fill all of the capacity. Of others it is not
    /// known how many do.
    [[nodiscard]] virtual bool serves_to_the_last_byte() const { return true; }
    /// Whether all of the capacity is free, and in one piece.
    [[nodiscard]] virtual bool is_whole() const = 0;
    /// Where the report of live pieces begins and how long it is for each, by address; `pieces` is what is live.
    virtual void expect_reported(const std::vector<given_piece>& pieces) const = 0;
};

/// How to make one; the seed steers what lanes do, where there are some.
struct allocator_family {
    std::string name;
    std::unique_ptr<allocator_under_test> (*make)(const std::string& name, std::uint64_t seed);
    std::uint64_t seeds;
};
inline void PrintTo(const allocator_family& family, std::ostream* out) { *out << family.name; }

}  // namespace laneway::test
