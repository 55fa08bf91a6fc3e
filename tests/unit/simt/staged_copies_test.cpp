// Copies by memory between, on a stream whose operations end when the test says.
#include "laneway/simt/staged_copies.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace laneway::test {
namespace {

/// Does each copy at once; the event behind it is done when the next copy has been given, or when told.
struct held_stream {
    struct copies_at_once : stream_backend {
        void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
        void copy_rows(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t) override {}
        void launch(const pe_program&, const launch_shape&) override {}
        void record(const event&, const std::exception_ptr&) override {}
        void write_value(std::uint64_t*, std::uint64_t) override {}
    };
    struct state {
        bool holds = false;  ///< until told, whatever is given
        std::size_t n_pieces = 0;
        std::size_t given = 0;
        std::vector<event> open;
    };
    std::shared_ptr<state> of = std::make_shared<state>();

    void copies(std::size_t, const std::function<void(stream_backend&)>& calls) {
        copies_at_once by;
        calls(by);
        if (!of->holds) end_all();
    }
    event record() {
        if (!of->holds && ++of->given % of->n_pieces == 0) return {};  // none follows the last piece
        return of->open.emplace_back(event::pending());
    }
    void end_all() {
        for (const event& each : std::exchange(of->open, {})) each.complete();
    }
};

std::shared_ptr<std::byte> bytes_of_host(std::size_t n) {
    return {new std::byte[n](), [](const std::byte* made) { delete[] made; }};
}

std::vector<std::uint8_t> counted(std::size_t n) {
    std::vector<std::uint8_t> values(n);
    std::iota(values.begin(), values.end(), std::uint8_t{1});
    return values;
}

TEST(staged_copies_test, OnePieceIsCopiedWhileTheHostIsAtWorkWithTheNext) {
    for (const std::size_t bytes : {33, 64, 200}) {
        held_stream stream;
        stream.of->n_pieces = (bytes + 31) / 32;
        const auto memory = bytes_of_host(bytes);
        staged_copies<held_stream> copies(stream, bytes_of_host(64), 64, memory, 2);
        const std::vector<std::uint8_t> values = counted(bytes);
        std::vector<std::uint8_t> got(bytes);
        ASSERT_NO_THROW(copies.to_device(memory.get(), values.data(), bytes)) << "one piece waits for the one before";
        ASSERT_NO_THROW(copies.to_host(got.data(), memory.get(), bytes));
        EXPECT_EQ(got, values);
    }
}

TEST(staged_copies_test, ALateCopyKeepsTheMemoryThatItTouches) {
    held_stream stream;
    stream.of->holds = true;
    std::weak_ptr<std::byte> memory, between;
    const std::vector<std::uint8_t> values = counted(10);
    {
        const auto there = bytes_of_host(64), staged = bytes_of_host(64);
        memory = there;
        between = staged;
        staged_copies<held_stream> copies(stream, staged, 64, there, 0.01);
        EXPECT_THROW(copies.to_device(there.get(), values.data(), 10), timeout_error);
    }
    EXPECT_FALSE(memory.expired()) << "it would be used anew while the copy writes it";
    EXPECT_FALSE(between.expired());
    stream.end_all();
    EXPECT_TRUE(memory.expired());
    EXPECT_TRUE(between.expired());
}

TEST(staged_copies_test, WhoFreesMemoryWaitsForACopyThatWasLate) {
    held_stream stream;
    stream.of->holds = true;
    const auto memory = bytes_of_host(64);
    staged_copies<held_stream> copies(stream, bytes_of_host(64), 64, memory, 0.01);
    EXPECT_NO_THROW(copies.await_late()) << "none is late";
    std::vector<std::uint8_t> values = counted(10);
    EXPECT_THROW(copies.to_host(values.data(), memory.get(), 10), timeout_error);
    EXPECT_THROW(copies.await_late(), timeout_error);
    stream.end_all();
    EXPECT_NO_THROW(copies.await_late());
}

}  // namespace
}  // namespace laneway::test
