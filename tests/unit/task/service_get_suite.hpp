// Loading several values of another PE: into variables of a lane, into its PE's part of an array, and into memory of a
// host thread, by whoever serves.
#pragma once

#include <thread>

#include "laneway/task/service_copies.hpp"
#include "service_job.hpp"

namespace laneway::test {
namespace {

class service_get_test : public testing::TestWithParam<std::string> {
protected:
    template <class Body>
    void every_server_in_turn(Body&& body) {
        every_server(GetParam(), body);
    }
};

/// What lies at an element of a PE.
template <class T>
LANEWAY_FN T value_at(int pe, std::uint64_t i) {
    return static_cast<T>(1000 * (pe + 1)) + static_cast<T>(i);
}

template <class T>
symmetric_array<T> values_of_all(runtime& rt, std::uint64_t count) {
    auto made = rt.allocate<T>(count);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        std::vector<T> values(count);
        for (std::uint64_t i = 0; i < count; ++i) values[i] = value_at<T>(pe, i);
        made.copy_in(pe, values);
    }
    return made;
}

constexpr std::uint64_t getting_lanes = 20, row_elements = 24;

/// Some lanes of each PE get values of all PEs, few and many, of two types, and compare them.
struct get_much {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<double> doubles;
    symmetric_ref<std::uint32_t> rows;    ///< one a lane, with a border
    symmetric_ref<std::uint64_t> counts;  ///< calls that came back, values that are wrong

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        const std::uint64_t lane = ctx.local_rank();
        for (std::uint64_t i = 0; i < 10 && lane < getting_lanes; ++i) {
            const int pe = static_cast<int>((lane + i) % static_cast<unsigned>(ctx.n_pes()));
            const std::uint64_t first = (3 * lane + 7 * i) % (from.size() - row_elements);
            if (get(ctx, served, lane, i, pe, first) != status::ok) return;
            atomic_add(ctx, counts[0], 1);
        }
    }

private:
    template <class Ctx, class Service>
    LANEWAY_FN status get(Ctx& ctx, Service& served, std::uint64_t lane, std::uint64_t i, int pe,
                          std::uint64_t first) const {
        const auto count = static_cast<std::uint32_t>((lane + i) % (service_get::most + 1));
        if (i % 3 == 0) return get_few(ctx, served, from, pe, first, count);
        if (i % 3 == 1) return get_few(ctx, served, doubles, pe, first, count);
        return get_row(ctx, served, lane, pe, first, (5 * i + lane) % (row_elements - 1));
    }
    template <class Ctx, class Service, class T>
    LANEWAY_FN status get_few(Ctx& ctx, Service& served, symmetric_ref<T> source, int pe, std::uint64_t first,
                              std::uint32_t count) const {
        T values[service_get::most + 1];
        for (T& value : values) value = T{7};
        const status got = served.get(ctx, source[first], pe, values, count);
        if (got != status::ok) return got;
        for (std::uint32_t i = 0; i <= service_get::most; ++i) {
            const T expected = i < count ? value_at<T>(pe, first + i) : T{7};
            if (values[i] != expected) atomic_add(ctx, counts[1], 1);
        }
        return got;
    }
    template <class Ctx, class Service>
    LANEWAY_FN status get_row(Ctx& ctx, Service& served, std::uint64_t lane, int pe, std::uint64_t first,
                              std::uint64_t count) const {
        const std::uint64_t at = lane * row_elements;
        for (std::uint64_t i = 0; i < row_elements; ++i) rows.local(ctx)[at + i] = 7;
        const status got = served.get(ctx, from[first], pe, rows[at + 1], count);
        if (got != status::ok) return got;
        for (std::uint64_t i = 0; i < row_elements; ++i) {
            const bool inside = i >= 1 && i <= count;
            const std::uint32_t found = rows.local(ctx)[at + i];
            if (found != (inside ? value_at<std::uint32_t>(pe, first + i - 1) : 7)) atomic_add(ctx, counts[1], 1);
        }
        return got;
    }
};

TEST_P(service_get_test, SeveralValuesComeBackToWhoHasAsked) {
    every_server_in_turn([](const options& o, const service_options& s) {
        runtime rt(o);
        const auto from = values_of_all<std::uint32_t>(rt, 100);
        const auto doubles = values_of_all<double>(rt, 100);
        const auto rows = rt.allocate<std::uint32_t>(getting_lanes * row_elements);
        const auto counts = rt.allocate<std::uint64_t>(2);
        service served(rt.machine(), s, who_asks{}, service_get{});
        rt.run(get_much{from.ref(), doubles.ref(), rows.ref(), counts.ref()}, served);
        std::uint64_t calls = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            calls += counts.copy_out(pe)[0];
            EXPECT_EQ(counts.copy_out(pe)[1], 0u);
        }
        EXPECT_GT(calls, 0u);
        EXPECT_EQ(calls % (10 * static_cast<unsigned>(rt.n_pes())), 0u);
        EXPECT_EQ(served.statistics().requests, calls);
        EXPECT_EQ(served.statistics().refused, 0u);
    });
}

/// One lane of each PE stores values; the next PE hears of it, gets them in each way, and lets them be stored again.
struct get_what_was_stored {
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> here;
    symmetric_ref<std::uint64_t> signals;  ///< stored, got, copied
    symmetric_ref<std::uint64_t> counts;

    static constexpr std::uint64_t rounds = 4, n = 12;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        if (!is_first_lane(ctx)) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), last = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::uint64_t i = 0; i < n; ++i) words.local(ctx)[i] = value_at<std::uint64_t>(ctx.pe(), round * i);
            const std::uint64_t one = 1;
            if (served.put(ctx, here[n], next, &one, 1, signals[0]) != status::ok) return;
            if (served.wait_signal(ctx, signals[0], round) != status::ok) return;
            std::uint64_t values[3];
            if (served.get(ctx, words[2], last, values, 3) != status::ok) return;
            for (std::uint64_t i = 0; i < 3; ++i) compare(ctx, values[i], last, round * (i + 2));
            if (served.copy_from(ctx, words[0], last, n / 2, here[0], signals[2], 3) != status::ok) return;
            if (served.get(ctx, words[n / 2], last, here[n / 2], n / 2) != status::ok) return;
            if (served.wait_signal(ctx, signals[2], 3 * round) != status::ok) return;
            for (std::uint64_t i = 0; i < n; ++i) {
                const std::uint64_t found = here.local(ctx)[i];
                compare(ctx, found, last, round * i);
            }
            if (served.put(ctx, here[n], last, &one, 1, signals[1]) != status::ok) return;
            if (served.wait_signal(ctx, signals[1], round) != status::ok) return;
        }
        atomic_add(ctx, counts[0], 1);
    }

private:
    template <class Ctx>
    LANEWAY_FN void compare(Ctx& ctx, std::uint64_t found, int pe, std::uint64_t i) const {
        if (found != value_at<std::uint64_t>(pe, i)) atomic_add(ctx, counts[1], 1);
    }
};

TEST_P(service_get_test, WhatWasStoredBeforeIsGot) {
    every_server_in_turn([](const options& o, const service_options& s) {
        runtime rt(o);
        const auto words = rt.allocate<std::uint64_t>(get_what_was_stored::n);
        const auto here = rt.allocate<std::uint64_t>(get_what_was_stored::n + 1);
        const auto signals = rt.allocate<std::uint64_t>(3), counts = rt.allocate<std::uint64_t>(2);
        service served(rt.machine(), s, service_get{});
        rt.run(get_what_was_stored{words.ref(), here.ref(), signals.ref(), counts.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(counts.copy_out(pe), (std::vector<std::uint64_t>{1, 0}));
        }
    });
}

/// One lane of each PE gets a long row of the next PE, and one of its own.
struct get_long_rows {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint32_t> to;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        if (!is_first_lane(ctx)) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        if (served.get(ctx, from[0], next, to[1], from.size()) != status::ok) return;
        (void)served.get(ctx, from[1], ctx.pe(), to[from.size() + 2], from.size() - 1);  // a failure ends the run
    }
};

TEST_P(service_get_test, LongRowsAreWhole) {
    if (is_checked(GetParam())) return;  // each of so many accesses is a step
    every_server_in_turn([](const options& o, const service_options& s) {
        runtime rt(o);
        constexpr std::uint64_t n = 30'001;
        const auto from = values_of_all<std::uint32_t>(rt, n);
        const auto to = rt.allocate<std::uint32_t>(2 * n + 2);
        service served(rt.machine(), s);
        rt.run(get_long_rows{from.ref(), to.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto found = to.copy_out(pe);
            EXPECT_EQ(found[0], 0u);
            EXPECT_EQ(found[n + 1], 0u);
            const int next = (pe + 1) % rt.n_pes();
            for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(found[1 + i], value_at<std::uint32_t>(next, i)) << i;
            for (std::uint64_t i = 1; i < n; ++i) ASSERT_EQ(found[n + 1 + i], value_at<std::uint32_t>(pe, i)) << i;
        }
    });
}

/// Asks for one value too many, or for some that are not there.
struct get_too_much {
    symmetric_ref<float> from;
    std::uint64_t first;
    std::uint32_t count;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        float values[8];
        if (ctx.pe() == 0 && is_first_lane(ctx)) (void)served.get(ctx, from[first], ctx.n_pes() - 1, values, count);
    }
};

TEST_P(service_get_test, WhatCannotBeGotEndsTheRun) {
    for (const service_by by : all_servers) {
        const options o = job_for(by, options_of(GetParam(), 1));
        runtime rt(o);
        const auto from = rt.allocate<float>(6);
        service served(rt.machine(), served_by(by, o), service_get{});
        const std::string where = " while getting from PE " + std::to_string(rt.n_pes() - 1) + ": ";
        const auto told_of = [&](std::uint64_t first, std::uint32_t count) {
            return thrown<device_fault>([&] { rt.run(get_too_much{from.ref(), first, count}, served); });
        };
        says(told_of(0, 5), "more payload bytes than a message can carry" + where);
        says(told_of(3, 4), "an address outside symmetric memory" + where + "element 6, where there are 0 to 5");
        EXPECT_NO_THROW(rt.run(do_nothing{}, served));
    }
}

TEST_P(service_get_test, HostThreadsGetSeveralValues) {
    runtime rt(session_of(options_of(GetParam(), 5), 60));
    const auto from = values_of_all<double>(rt, 40);
    service served(rt.machine(), service_get{});
    auto session = rt.start(served);
    service_client client(session, served);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 6; ++i) {
                const int pe = static_cast<int>((t + i) % static_cast<unsigned>(rt.n_pes()));
                const std::uint64_t count = (5 * i + t) % 14;
                std::vector<double> values(count + 1, 7.5);
                client.get(from.ref()[i + 2], pe, values.data(), count);
                for (std::uint64_t k = 0; k < count; ++k) EXPECT_EQ(values[k], value_at<double>(pe, i + 2 + k));
                EXPECT_EQ(values[count], 7.5);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    double value = 0;
    EXPECT_EQ(thrown<usage_error>([&] { client.get(from.ref()[38], 0, &value, 3); }),
              "service: an address outside symmetric memory of PE 0: element 40, where there are 0 to 39");
    session.stop();
}

TEST_P(service_get_test, CopiesGetWhatWasPutBefore) {
    runtime rt(options_of(GetParam(), 0));
    const auto words = rt.allocate<float>(8);
    const int last = rt.n_pes() - 1;
    service_copies copies(rt.machine(), std::make_shared<std::timed_mutex>());
    copies.prepare();
    copies.open(60);
    for (std::uint64_t i = 0; i < 4; ++i) {
        const float value = 0.5f + static_cast<float>(i);
        copies.update({memory_op::put, words.ref()[i + 2]}, last, word_bits(value));
    }
    std::uint64_t bits[4] = {9, 9, 9, 9};
    copies.get({memory_op::get, words.ref()[3]}, last, bits, 3);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(word_of<float>(bits[i]), 1.5f + static_cast<float>(i));
    EXPECT_EQ(bits[3], 9u);
    EXPECT_EQ(copies.copies(), 2u) << "one of the puts, and one back";
    copies.get({memory_op::get, words.ref()[3]}, last, bits, 0);
    EXPECT_EQ(copies.copies(), 2u);
    copies.wait_all();
}

LANEWAY_ON_DEVICES(service_get_test, remote_devices());

}  // namespace
}  // namespace laneway::test
