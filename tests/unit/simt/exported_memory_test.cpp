// Shared memory of CPU devices: what one maps the other sees, and nothing of it has a name.
#include "laneway/simt/exported_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/simt/host_memory.hpp"
#include "unit/forked_processes.hpp"

namespace laneway::test {

constexpr device_id cpu{device_kind::cpu, 0};

TEST(exported_memory_test, BothMappingsShowOneZeroedMemory) {
    const auto before = shared_memory_left();
    const std::size_t held = zeroed_bytes_held();
    const auto owner = export_memory_of(cpu, {cpu}), other = export_memory_of(cpu, {cpu});
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{1'000'000}}) {
        contribution handle;
        auto* const mine = static_cast<char*>(owner->allocate(bytes, handle));
        auto* const theirs = static_cast<char*>(other->import(handle, bytes));
        ASSERT_NE(mine, theirs);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mine) % 256, 0u);
        EXPECT_EQ(zeroed_bytes_held(), held + bytes) << "memory counts for its owner";
        EXPECT_TRUE(std::all_of(theirs, theirs + bytes, [](char c) { return c == 0; }));
        std::memset(mine, 7, bytes);
        EXPECT_TRUE(std::all_of(theirs, theirs + bytes, [](char c) { return c == 7; }));
        EXPECT_EQ(shared_memory_left(), before);
        owner->free(mine);
        EXPECT_TRUE(std::all_of(theirs, theirs + bytes, [](char c) { return c == 7; })) << "it has its last mapping";
        other->free(theirs);
        EXPECT_EQ(zeroed_bytes_held(), held);
    }
}

TEST(exported_memory_test, WhatCannotBeIsRefused) {
    const auto owner = export_memory_of(cpu, {cpu});
    contribution handle;
    EXPECT_THROW((void)owner->allocate(~std::size_t{0}, handle), system_error);
    EXPECT_THROW((void)owner->allocate(std::size_t{1} << 60, handle), system_error);
    EXPECT_THROW((void)owner->import({}, 8), process_error) << "no file";
    void* const memory = owner->allocate(8, handle);
    EXPECT_THROW((void)owner->import(handle, 100'000), process_error) << "a shorter one";
    owner->free(memory);
}

}  // namespace laneway::test
