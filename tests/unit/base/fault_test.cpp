#include "laneway/base/fault.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "laneway/base/fault_text.hpp"
#include "unit/enumerators.hpp"

namespace laneway {
namespace {

TEST(fault_test, EveryOperationHasItsOwnWordsAndTellsItsNumberOnce) {
    std::set<std::string> words;
    for (const operation op : enumerators<operation>()) {
        const operation_words w = words_of(op);
        EXPECT_TRUE(words.insert(w.doing).second) << w.doing;
        const std::string number = w.number;
        EXPECT_EQ(std::count(number.begin(), number.end(), '#'), 1) << number;
        EXPECT_GT(number.size(), 1u) << w.doing << ": a bare number";
        const std::string toward = w.toward;
        EXPECT_EQ(toward.substr(toward.size() - 4), " PE ") << toward;
    }
    EXPECT_EQ(words.count("unknown operation"), 0u);
    EXPECT_EQ(words.count(words_of(operation::run_to_end).doing), 1u);  // the list above is not empty
    EXPECT_STREQ(words_of(operation{999}).doing, "unknown operation");
}

TEST(fault_test, FreshRecordNamesNoPeerAndIsUnwritten) {
    const fault_record record;
    EXPECT_EQ(record.written, 0u);
    EXPECT_EQ(record.peer, -1);
    EXPECT_EQ(record.code, status::ok);
}

TEST(fault_test, IsPlainData) { static_assert(trivially_copyable<fault_record>); }

/// What follows the place: PE 3 of 8, with a deadline of 0.25 s.
std::string told(status code, operation what, int peer = -1, std::uint64_t number = 0, std::uint64_t limit = 0) {
    const std::string text = describe({1, code, what, 3, 4, 5, 6, peer, number, limit}, {"gpu:2", 8, 0.25});
    const std::string place = "PE 3 (gpu:2) block 4 warp 5 lane 6: ";
    EXPECT_EQ(text.substr(0, place.size()), place);
    return text.substr(place.size());
}

TEST(fault_text_test, AChannelIsToldWithItsGraphWhereThereAreSeveral) {
    const std::uint64_t only = channel_in_fault{3, 0}.number(), second = channel_in_fault{3, 2}.number();
    EXPECT_EQ(told(status::freed_twice, operation::consume, -1, only, 5),
              "an element of a channel was freed twice while freeing an element of a channel: channel 3, level 5");
    EXPECT_EQ(told(status::freed_twice, operation::consume, -1, second, 5),
              "an element of a channel was freed twice while freeing an element of a channel: channel 3 of graph 1, "
              "level 5");
    EXPECT_EQ(told(status::not_receiving, operation::produce, 2, second),
              "a channel whose kernel does not receive what is sent while producing into a channel of PE 2: "
              "channel 3 of graph 1");
}

TEST(fault_text_test, APeThatDoesNotExistIsTold) {
    EXPECT_EQ(told(status::bad_pe, operation::post, 8),
              "no such PE while posting a message to PE 8: the job has 8 PEs");
    EXPECT_EQ(told(status::bad_pe, operation::forward, -1),
              "no such PE while forwarding from a handler to PE -1: the job has 8 PEs");
    EXPECT_EQ(told(status::bad_pe, operation::call, -2147483648),
              "no such PE while calling PE -2147483648: the job has 8 PEs");
    EXPECT_EQ(told(status::bad_pe, operation::get, 1 << 30),
              "no such PE while getting from PE 1073741824: the job has 8 PEs");
    EXPECT_EQ(describe({1, status::bad_pe, operation::put, 0, 0, 0, 0, 1, 0, 0}, {"cpu:0", 1, 30}),
              "PE 0 (cpu:0) block 0 warp 0 lane 0: no such PE while putting to PE 1: the job has 1 PE");
}

TEST(fault_text_test, DeviceMemoryTellsQuotaAndPlace) {
    EXPECT_EQ(told(status::quota_reached, operation::allocate_memory, 3, 100, std::uint64_t{2} << 56 | 8192),
              "a quota of device memory is used up while allocating device memory of PE 3: 100 bytes asked for, of "
              "quota 2, which has 8192");
    EXPECT_EQ(told(status::quota_reached, operation::allocate_memory, 3, 9000, std::uint64_t{2} << 56 | 8192),
              "a quota of device memory is used up while allocating device memory of PE 3: 9000 bytes asked for, of "
              "quota 2, which gives 8192 at once at most");
    EXPECT_EQ(told(status::not_allocated, operation::release_memory, 3, 48, 4096),
              "memory that is not allocated, or has been released already while releasing device memory of PE 3: byte "
              "48 of 4096");
    EXPECT_EQ(told(status::not_allocated, operation::release_memory, 3, 4096, 4096),
              "memory that is not allocated, or has been released already while releasing device memory of PE 3: an "
              "address outside of 4096");
}

TEST(fault_text_test, LimitsAreToldWithTheirUnits) {
    EXPECT_EQ(told(status::too_long, operation::post, 1, 72, 64),
              "more payload bytes than a message can carry while posting a message to PE 1: 72 bytes, and a chunk "
              "has room for 64");
    EXPECT_EQ(told(status::bad_address, operation::put, 7, 16, 16),
              "an address outside symmetric memory while putting to PE 7: element 16, where there are 0 to 15");
    EXPECT_EQ(
        told(status::bad_address, operation::atomic, 0, 2, 0),
        "an address outside symmetric memory while doing an atomic operation on PE 0: element 2, where there are none");
    EXPECT_EQ(told(status::bad_address, operation::collective, 1, 8, 12),
              "an address outside symmetric memory while in a collective with PE 1: element 8 is out of reach of loads "
              "and stores");
    EXPECT_EQ(
        told(status::bad_address, operation::allocate, 2, 9, 9),
        "an address outside symmetric memory while allocating memory for a large message on PE 2: element 9, where "
        "there are 0 to 8");
    EXPECT_EQ(told(status::no_room, operation::forward, 1, 4096),
              "no room left while forwarding from a handler to PE 1: of 4096 places none is free, see "
              "options.forward_slots");
    EXPECT_EQ(told(status::no_room, operation::insert, -1, 1),
              "no room left while inserting into a table of fixed size: of 1 place none is free");
    EXPECT_EQ(told(status::no_room, operation::insert, -1, 16384, 134217728),
              "no room left while inserting into a table of fixed size: none of the 16384 places that it may take is "
              "free, of 134217728");
}

TEST(fault_text_test, AnUnevenBarrierTellsWhoCame) {
    EXPECT_EQ(told(status::uneven_barrier, operation::barrier, -1, 3, 4),
              "not every working warp called the barrier: 3 of 4 working warps came, and the rest returned");
    EXPECT_EQ(told(status::uneven_barrier, operation::barrier, -1, 0, 1),
              "not every working warp called the barrier: 0 of 1 working warp came, and other PEs wait there");
}

TEST(fault_text_test, AnErrorOfTheApplicationTellsItsNumber) {
    EXPECT_EQ(told(status::handler_failed, operation::user_code, -1, 7),
              "the application reported an error while running application code: number 7");
    EXPECT_EQ(told(status::handler_failed, operation::user_code, 5, 42),
              "the application reported an error while running application code for PE 5: number 42");
}

TEST(fault_text_test, AWaitTellsItsNumberAndTheDeadline) {
    const auto waited = [](operation what, int peer) {
        const std::string text = told(status::timeout, what, peer, 42);
        const std::string start = "deadline passed while ", end = "; the deadline is 0.25 s";
        EXPECT_EQ(text.substr(0, start.size()), start);
        EXPECT_EQ(text.substr(text.size() - end.size()), end);
        return text.substr(start.size(), text.size() - start.size() - end.size());
    };
    EXPECT_EQ(waited(operation::aggregate, 1), "waiting for an aggregation buffer for PE 1: chunk 42");
    EXPECT_EQ(waited(operation::reserve_slot, 0), "waiting for a free ring slot to PE 0: ticket 42");
    EXPECT_EQ(waited(operation::flush, 1), "waiting for chunks to leave for PE 1: chunk 42");
    EXPECT_EQ(waited(operation::quiet, 2), "waiting for messages to be served by PE 2: ticket 42");
    EXPECT_EQ(waited(operation::serve, -1), "waiting for the words of a chunk: ticket 42");
    EXPECT_EQ(waited(operation::call, 4), "calling PE 4: the lane's call 42");
    EXPECT_EQ(waited(operation::forward, 1), "forwarding from a handler to PE 1: slot 42 of the queue");
    EXPECT_EQ(waited(operation::allocate, 1), "allocating memory for a large message on PE 1: room for 42 elements");
    EXPECT_EQ(waited(operation::get, -1), "getting: the lane's get 42");
    EXPECT_EQ(waited(operation::signal, 3), "waiting for a signal on PE 3: value 42");
    EXPECT_EQ(waited(operation::barrier, -1), "waiting at a barrier: barrier 42");
    EXPECT_EQ(waited(operation::push_id, -1), "waiting to push into a worklist: place 42");
    EXPECT_EQ(waited(operation::put_item, -1), "putting an item into the worklist: place 42");
    EXPECT_EQ(waited(operation::host_slot, -1), "waiting for a free slot of a queue to the host: ticket 42");
    EXPECT_EQ(waited(operation::host_answer, -1), "waiting for a host function's answer: ticket 42");
}

TEST(fault_text_test, OnlyPe0KnowsHowMuchWorkIsOpen) {
    EXPECT_EQ(told(status::timeout, operation::run_to_end),
              "deadline passed while waiting for all work to be done: the deadline is 0.25 s");
    EXPECT_EQ(
        describe({1, status::timeout, operation::run_to_end, 0, 0, 0, 0, -1, 42, 0}, {"cpu:0", 2, 0.25}),
        "PE 0 (cpu:0) block 0 warp 0 lane 0: deadline passed while waiting for all work to be done: 42 known to be "
        "open; the deadline is 0.25 s");
}

}  // namespace
}  // namespace laneway
