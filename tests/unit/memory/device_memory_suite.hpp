// Memory that lanes allocate and release in bodies and handlers of runs: what it keeps beyond a device heap's contract.
#pragma once

#include <numeric>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// A list of nodes on each PE, made by handlers.
struct list_node {
    list_node* next;
    std::uint64_t value;
};
static_assert(sizeof(list_node) == 16);

struct keep_value {
    device_memory_ref nodes;
    symmetric_ref<std::uint64_t> head;  ///< address of the first node

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        auto* const node = static_cast<list_node*>(nodes.allocate(ctx, sizeof(list_node)));
        if (node == nullptr) return;
        node->value = value;
        std::uint64_t* const first = address(ctx, head[0], ctx.pe());
        std::uint64_t before = ctx.load(first, order::relaxed, scope::device);
        do {
            node->next = reinterpret_cast<list_node*>(before);
        } while (
            !ctx.compare_exchange(first, before, reinterpret_cast<std::uint64_t>(node), order::acq_rel, scope::device));
    }
};

struct post_values {
    std::uint64_t each;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < each; ++i) {
            const std::uint64_t value = ctx.rank() * each + i + 1;
            if (box.post(ctx, static_cast<int>(value % static_cast<unsigned>(ctx.n_pes())), value) != status::ok)
                return;
        }
    }
};

/// One lane of the PE, whichever it is, takes the list, whoever made its nodes, and releases them.
struct release_list {
    device_memory_ref any;  ///< of whichever quota
    symmetric_ref<std::uint64_t> head, sum;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        std::uint64_t* const first = address(ctx, head[0], ctx.pe());
        auto* node = reinterpret_cast<list_node*>(ctx.exchange(first, 0, order::acq_rel, scope::device));
        while (node != nullptr) {
            atomic_add(ctx, sum[0], node->value);
            list_node* const next = node->next;
            if (any.release(ctx, node) != status::ok) return;
            node = next;
        }
    }
};

inline options memory_options(const std::string& devices, std::uint64_t seed = 1) {
    options o = options_of(devices, seed);
    o.chunk_bytes = 0;
    o.ring_slots = 0;
    return o;
}

/// Of the first element, over all PEs.
inline std::uint64_t sum_of(const symmetric_array<std::uint64_t>& counted, int n_pes) {
    std::uint64_t all = 0;
    for (int pe = 0; pe < n_pes; ++pe) all += counted.copy_out(pe)[0];
    return all;
}

struct count_working_lanes {
    symmetric_ref<std::uint64_t> lanes;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        atomic_add(ctx, lanes[0], 1);
    }
};

class device_memory_test : public testing::TestWithParam<std::string> {};

TEST_P(device_memory_test, HandlersAllocateAndAnyLaneReleasesInALaterRun) {
    every_fourth_round(GetParam(), [&](options o) {
        o.chunk_bytes = 0;
        o.ring_slots = 0;
        runtime rt(o);
        auto memory =
            rt.device_memory({.bytes = 1 << 20, .page_bytes = 1 << 12, .quotas = {{"rest", 4096}, {"nodes"}}});
        const auto head = rt.allocate<std::uint64_t>(1), sum = rt.allocate<std::uint64_t>(1),
                   lanes = rt.allocate<std::uint64_t>(1);
        rt.run(count_working_lanes{lanes.ref()});
        const std::uint64_t posted = 6 * sum_of(lanes, rt.n_pes());
        const auto box = rt.mailbox<std::uint64_t>(keep_value{memory.ref("nodes"), head.ref()});
        const run_report report = rt.run(post_values{6}, box);
        std::uint64_t held = 0;
        for (const memory_held& one : report.memory) {
            EXPECT_EQ(one.quota, "nodes");
            EXPECT_EQ(memory.live(one.pe).size(), one.pieces);
            EXPECT_GE(one.bytes, one.pieces * sizeof(list_node));
            held += one.pieces;
        }
        EXPECT_EQ(held, posted);
        try {
            memory.refuse_leaks();
            ADD_FAILURE() << "nodes are live";
        } catch (const device_fault& e) {
            EXPECT_NE(std::string(e.what()).find("quota \"nodes\": "), std::string::npos) << e.what();
        }
        const run_report after = rt.run(release_list{memory.ref("rest"), head.ref(), sum.ref()});
        EXPECT_EQ(sum_of(sum, rt.n_pes()), posted * (posted + 1) / 2);
        EXPECT_TRUE(after.memory.empty());
        EXPECT_NO_THROW(memory.refuse_leaks());
        EXPECT_EQ(memory.statistics(0).used_bytes, 0u);
    });
}

/// Payloads longer than a chunk go into memory that the receiving handler allocates, and are released behind it.
struct sum_payload {
    using element = std::uint64_t;
    static constexpr bool allocates = true;
    device_memory_ref payloads;
    symmetric_ref<std::uint64_t> sum;

    template <class Ctx>
    LANEWAY_FN symmetric_ptr<std::uint64_t> allocate(Ctx& ctx, const std::uint32_t&, std::uint64_t count) const {
        void* const piece = payloads.try_allocate(ctx, count * sizeof(std::uint64_t));
        return piece == nullptr ? rejected<std::uint64_t>() : payloads.name_of<std::uint64_t>(ctx, piece);
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const std::uint32_t&, payload<const std::uint64_t> body) const {
        std::uint64_t total = 0;
        for (std::uint64_t i = 0; i < body.size; ++i) total += body[i];
        atomic_add(ctx, sum[0], total);
        (void)payloads.release(ctx, const_cast<std::uint64_t*>(body.data));
    }
};

/// Sends its array to the next PE, again while that has no room.
struct send_array {
    symmetric_ref<std::uint64_t> data;
    symmetric_ref<std::uint64_t> turned_away;
    std::uint32_t rounds;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.lane() != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        bounded_spin spin;
        for (std::uint32_t i = 0; i < rounds;) {
            const status sent = box.post(ctx, next, i, address(ctx, data[0], ctx.pe()), data.size());
            if (sent == status::ok) ++i;
            if (sent == status::ok) continue;
            if (sent != status::rejected) return;
            atomic_add(ctx, turned_away[0], 1);
            (void)box.help(ctx, ctx.converged());
            if (spin.next(ctx, {operation::user_code, next, i}) != status::ok) return;
        }
    }
};

TEST_P(device_memory_test, LongPayloadsGoIntoItAndNoneIsLostWhereItIsFull) {
    every_fourth_round(GetParam(), [&](options o) {
        o.chunk_bytes = 256;
        o.ring_slots = 4;
        runtime rt(o);
        if (rt.n_pes() == 1) return;
        // Room for two payloads at once.
        constexpr std::uint64_t elements = 128;
        auto memory = rt.device_memory({.bytes = 1 << 16, .page_bytes = 2048, .quotas = {{"payloads", 2048}}});
        auto data = rt.allocate<std::uint64_t>(elements);
        const auto sum = rt.allocate<std::uint64_t>(1), turned = rt.allocate<std::uint64_t>(1),
                   lanes = rt.allocate<std::uint64_t>(1);
        std::vector<std::uint64_t> values(elements);
        std::iota(values.begin(), values.end(), 1);
        for (int pe = 0; pe < rt.n_pes(); ++pe) data.copy_in(pe, values);
        const auto box = rt.mailbox<std::uint32_t>(sum_payload{memory.ref(), sum.ref()});
        const run_report report = rt.run(send_array{data.ref(), turned.ref(), 3}, box);
        EXPECT_TRUE(report.memory.empty());
        std::uint64_t total = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const std::uint64_t one = sum.copy_out(pe)[0];
            EXPECT_GT(one, 0u);
            EXPECT_EQ(one % (elements * (elements + 1) / 2 * 3), 0u);
            EXPECT_LE(memory.quotas(pe)[0].peak_bytes, 2048u);
            EXPECT_EQ(memory.quotas(pe)[0].total_frees, one / (elements * (elements + 1) / 2));
            total += one;
        }
        EXPECT_GT(total, 0u);
    });
}

/// Allocates pieces until there is no room.
struct take_all {
    device_memory_ref quota;
    std::uint64_t bytes;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        while (quota.allocate(ctx, bytes) != nullptr) {
        }
    }
};

template <class Run>
std::string fault_of(Run&& run) {
    try {
        run();
    } catch (const device_fault& e) {
        return e.what();
    }
    return "no fault";
}

TEST_P(device_memory_test, AFullQuotaIsNamed) {
    runtime rt(memory_options(GetParam()));
    auto memory = rt.device_memory({.bytes = 1 << 17, .page_bytes = 4096, .quotas = {{"large"}, {"small", 10'000}}});
    const std::string fault = fault_of([&] { rt.run(take_all{memory.ref("small"), 100}); });
    for (const char* part : {"a quota of device memory is used up while allocating device memory",
                             "100 bytes asked for, of quota 1, which "
                             "has 8192",
                             "quota 1 \"small\": 8192 of 8192 bytes in use, 64 pieces"}) {
        EXPECT_NE(fault.find(part), std::string::npos) << fault;
    }
    EXPECT_EQ(memory.quotas(0)[0].total_allocations, 0u);
    const std::string too_large = fault_of([&] { rt.run(take_all{memory.ref("large"), 1 << 20}); });
    EXPECT_NE(too_large.find("1048576 bytes asked for, of quota 0, which gives 131072 at once"), std::string::npos)
        << too_large;
    const auto many = rt.device_memory({.bytes = 300 << 10, .page_bytes = 1 << 10});
    const std::string too_many_pages = fault_of([&] { rt.run(take_all{many.ref(), 257 << 10}); });
    EXPECT_NE(too_many_pages.find("of quota 0, which gives 262144 at once at most"), std::string::npos)
        << too_many_pages;
}

/// One lane requests pieces until there is no room.
struct request_all {
    device_memory_ref quota;
    std::uint64_t bytes;
    symmetric_ref<std::uint64_t> served, contended;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.pe() != 0 || ctx.rank() != 0) return;
        heap_piece got = quota.try_request(ctx, bytes);
        for (; got.address != nullptr; got = quota.try_request(ctx, bytes)) atomic_add(ctx, served[0], 1);
        if (got.contended) atomic_add(ctx, contended[0], 1);
    }
};

TEST_P(device_memory_test, ARequestOfAFullQuotaSaysThatNobodyWasFaster) {
    runtime rt(memory_options(GetParam()));
    const auto memory = rt.device_memory({.bytes = 1 << 17, .page_bytes = 4096, .quotas = {{"small", 4 * 4096}}});
    const auto served = rt.allocate<std::uint64_t>(1), contended = rt.allocate<std::uint64_t>(1);
    EXPECT_NO_THROW(rt.run(request_all{memory.ref(), 2048, served.ref(), contended.ref()}));
    EXPECT_EQ(served.copy_out(0)[0], 8u);
    EXPECT_EQ(contended.copy_out(0)[0], 0u);
}

enum class mistake { twice, inside, foreign };

struct release_wrongly {
    device_memory_ref memory;
    symmetric_ref<std::uint64_t> foreign;
    mistake what;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.pe() != 0 || ctx.rank() != 0) return;
        auto* const piece = static_cast<std::byte*>(memory.allocate(ctx, 64));
        if (what == mistake::twice && memory.release(ctx, piece) == status::ok) (void)memory.release(ctx, piece);
        if (what == mistake::inside) (void)memory.release(ctx, piece + 16);
        if (what == mistake::foreign) (void)memory.release(ctx, address(ctx, foreign[0], ctx.pe()));
    }
};

TEST_P(device_memory_test, WrongReleasesEndTheRunAndSayWhat) {
    const std::pair<mistake, const char*> all[] = {
        {mistake::twice, "byte "}, {mistake::inside, "byte "}, {mistake::foreign, "an address outside"}};
    for (const auto& [what, where] : all) {
        runtime rt(memory_options(GetParam()));
        auto memory = rt.device_memory({.bytes = 1 << 16, .page_bytes = 4096});
        const auto foreign = rt.allocate<std::uint64_t>(1);
        const std::string fault = fault_of([&, mistake = what] {
            rt.run(release_wrongly{memory.ref(), foreign.ref(), mistake});
        });
        for (const char* part :
             {"memory that is not allocated, or has been released already while releasing", where, " of 65536"}) {
            EXPECT_NE(fault.find(part), std::string::npos) << fault;
        }
    }
}

TEST_P(device_memory_test, RefusesQuotasThatCannotBe) {
    runtime rt(memory_options(GetParam()));
    const auto make = [&](std::vector<memory_quota> quotas) {
        return rt.device_memory({.bytes = 1 << 16, .page_bytes = 4096, .quotas = std::move(quotas)});
    };
    EXPECT_THROW(make({{"a", 4095}}), usage_error);
    EXPECT_THROW(make({{"a", 4096}, {"a", 4096}}), usage_error);
    EXPECT_THROW(make(std::vector<memory_quota>(33)), usage_error);
    const auto memory = make({{"a", 5000}, {"b"}});
    EXPECT_THROW((void)memory.ref("c"), usage_error);
    EXPECT_THROW((void)memory.statistics(rt.n_pes()), usage_error);
    EXPECT_EQ(memory.quotas(0)[0].allowed_bytes, 4096u);
    EXPECT_EQ(memory.quotas(0)[1].allowed_bytes, 65536u);
    static_assert(trivially_copyable<device_memory_ref>);
}

LANEWAY_ON_DEVICES(device_memory_test, device_lists());

}  // namespace laneway::test
