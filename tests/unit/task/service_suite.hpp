// Services: every request is carried out once, by whoever serves, its answer comes back to who has asked, and what is
// stored before and after is seen.
#pragma once

#include "service_job.hpp"

namespace laneway::test {
namespace {

class service_test : public testing::TestWithParam<std::string> {
protected:
    template <class Body>
    void every_server_in_turn(Body&& body) {
        every_server(GetParam(), body);
    }
};

constexpr std::uint64_t most_lanes = std::uint64_t{1} << 10;

/// Each lane posts and calls, diverged, and compares what it is told.
struct ask_much {
    std::uint64_t each;
    service_by by;
    int server_pe;
    symmetric_ref<std::uint64_t> sums;   ///< of what is added, and a counter from which all draw numbers
    symmetric_ref<std::uint64_t> drawn;  ///< by number, on PE 0: how often it was drawn
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        const std::uint64_t lane = ctx.local_rank();
        for (std::uint64_t i = 0; i < each && lane < most_lanes; ++i) {
            if (ask(ctx, served, lane, i) != status::ok) return;
        }
    }

private:
    template <class Ctx, class Service>
    LANEWAY_FN status ask(Ctx& ctx, Service& served, std::uint64_t lane, std::uint64_t i) const {
        const int pe = static_cast<int>((lane + i) % static_cast<unsigned>(ctx.n_pes()));
        const status added = served.add(ctx, sums[0], pe, lane + 1);
        if (added != status::ok) return added;
        if ((lane + i) % 3 == 0) return served.post(ctx, task<mark_and_square>, {lane, 1});
        const auto square = served.call(ctx, task<mark_and_square>, {lane, lane + 3});
        const auto who = served.call(ctx, task<who_asks>, static_cast<std::uint32_t>(i));
        const auto number = served.fetch_add(ctx, sums[1], 0, 1);
        if (square.code != status::ok || number.code != status::ok) return status::stopped;
        const std::uint64_t server = by == service_by::host ? who_asks::the_host
                                     : by == service_by::pe ? static_cast<std::uint64_t>(server_pe)
                                                            : static_cast<std::uint64_t>(ctx.pe());
        const std::uint64_t me = who_asks::told(server, ctx.pe(), ctx.block(), i);
        if (who.code == (i == 7 ? status::no_room : status::ok) && square.value == (lane + 3) * (lane + 3) &&
            (i == 7 || who.value == me)) {
            return served.template update<memory_op::add>(ctx, drawn[number.value % drawn.size()], 0, 1);
        }
        atomic_add(ctx, wrong[0], 1);
        return status::ok;
    }
};

TEST_P(service_test, EachRequestIsCarriedOutOnceAndAnsweredToWhoHasAsked) {
    every_server_in_turn([](const options& o, const service_options& s) {
        if (!reach_memory(o, s)) return;  // the marks
        runtime rt(o);
        const auto marks = rt.allocate<std::uint64_t>(most_lanes);
        auto sums = rt.allocate<std::uint64_t>(2), wrong = rt.allocate<std::uint64_t>(1);
        auto drawn = rt.allocate<std::uint64_t>(most_lanes * 9);
        service served(rt.machine(), s, mark_and_square{marks.ref()}, who_asks{});
        const std::uint64_t each = o.devices.starts_with("cuda") || o.seed % 8 == 0 ? 9 : 3;
        for (std::uint64_t run = 1; run <= 2; ++run) {
            sums.clear();
            drawn.clear();
            const std::uint64_t filled = fills(rt);
            rt.run(ask_much{each, s.by, s.pe, sums.ref(), drawn.ref(), wrong.ref()}, served);
            std::uint64_t added = 0, expected = 0, calls = 0, requests = 0, refused = 0;
            const auto pes = static_cast<std::uint64_t>(rt.n_pes());
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
                added += sums.copy_out(pe)[0];
                const auto found = marks.copy_out(pe);
                for (std::uint64_t lane = 0; lane < most_lanes && found[lane] != 0; ++lane) {
                    ASSERT_EQ(found[lane], each * run) << lane;
                    for (std::uint64_t i = 0; i < each; ++i) {
                        const bool waits = (lane + i) % 3 != 0;
                        expected += lane + 1;
                        requests += waits ? 5 : 2;
                        calls += waits ? 1 : 0;
                        refused += waits && i == 7 ? 1 : 0;
                    }
                }
                EXPECT_EQ(pe > 0 ? sums.copy_out(pe)[1] : 0, 0u);
            }
            EXPECT_EQ(added, expected);
            if (run > 1) {
                EXPECT_EQ(fills(rt), filled) << "tickets run on";
            }
            EXPECT_EQ(sums.copy_out(0)[1], calls);
            const auto numbers = drawn.copy_out(0);
            for (std::uint64_t n = 0; n < numbers.size() && calls < numbers.size(); ++n) {
                ASSERT_EQ(numbers[n], n < calls ? 1u : 0u) << n;
            }
            const auto told = served.statistics();
            EXPECT_EQ(told.requests, requests);
            EXPECT_EQ(told.refused, refused);
            EXPECT_GE(told.slots, 2 * pes);
            EXPECT_LE(told.slots, told.requests);
            ASSERT_GT(calls + requests, 0u);
        }
    });
}

/// Adds up what its poster has stored, and stores the sum where the poster looks.
struct add_up {
    struct arguments {
        std::uint64_t first;
        std::uint64_t count;
    };
    using result = void;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& a, service_call& call) const {
        const auto from = words.at(ctx, call.pe());
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < a.count; ++i) {
            const std::uint64_t word = from[a.first + i];
            sum += word;
        }
        sums.at(ctx, call.pe())[a.first / a.count] = sum;
    }
};
struct have_added_up {
    std::uint64_t rounds;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        constexpr std::uint64_t count = 5;
        const std::uint64_t lane = ctx.local_rank();
        if (lane >= most_lanes / 8) return;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::uint64_t i = 0; i < count; ++i) words.local(ctx)[lane * count + i] = round * lane + i;
            if (round % 2 == 0) {
                if (served.call(ctx, task<add_up>, {lane * count, count}).code != status::ok) return;
            } else if (served.post(ctx, task<add_up>, {lane * count, count}) != status::ok ||
                       served.quiet(ctx) != status::ok) {
                return;
            }
            const std::uint64_t sum = sums.local(ctx)[lane];
            if (sum != count * round * lane + 10) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(service_test, WhatIsStoredBeforeAndAfterARequestIsSeen) {
    every_server_in_turn([](const options& o, const service_options& s) {
        if (!reach_memory(o, s)) return;
        runtime rt(o);
        const auto words = rt.allocate<std::uint64_t>(most_lanes), sums = rt.allocate<std::uint64_t>(most_lanes / 8);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        service served(rt.machine(), s, add_up{words.ref(), sums.ref()});
        rt.run(have_added_up{4, words.ref(), sums.ref(), wrong.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        EXPECT_GT(served.statistics().requests, 0u);
    });
}

/// All lanes of a server's warp leave a mark, and one says how many they are.
struct mark_by_warp {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    static constexpr bool by_warp = true;
    symmetric_ref<std::uint64_t> marks;  ///< of the PE that has posted it, one a lane

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& id, service_call& call) const {
        ctx.fetch_add(address(ctx, marks[id], call.pe()), std::uint64_t{1}, order::relaxed, scope::system);
        ctx.sync(full_warp<Ctx>);
        return ctx.lane() == 0 ? Ctx::warp_lanes : 0;
    }
};
struct ask_warps {
    symmetric_ref<std::uint64_t> marks;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        const std::uint64_t lane = ctx.local_rank();
        if (lane >= marks.size()) return;
        std::uint64_t lanes = 0;
        for (int i = 0; i < 2; ++i) {
            const auto got = served.call(ctx, task<mark_by_warp>, lane);
            if (got.code != status::ok) return;
            lanes += got.value;
        }
        const std::uint64_t found = marks.local(ctx)[lane];
        if (found != lanes || lanes < 2) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(service_test, ARequestByWarpIsCarriedOutByAllLanesOfAServer) {
    every_server_in_turn([](const options& o, const service_options& s) {
        if (!reach_memory(o, s)) return;
        runtime rt(o);
        const auto marks = rt.allocate<std::uint64_t>(64), wrong = rt.allocate<std::uint64_t>(1);
        service served(rt.machine(), s, mark_by_warp{marks.ref()});
        rt.run(ask_warps{marks.ref(), wrong.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        EXPECT_GT(served.statistics().requests, 0u);
    });
}

/// One lane of each PE passes rows on to the next PE, in the request and by copies, and waits for those of the last.
struct pass_rows {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint32_t> to;
    symmetric_ref<double> few;
    symmetric_ref<std::uint64_t> signals;  ///< of copies, of puts
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        if (!is_first_lane(ctx)) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), last = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        const std::uint64_t count = from.size();
        for (std::uint64_t i = 0; i < count; ++i) {
            from.local(ctx)[i] = static_cast<std::uint32_t>(1000 * static_cast<unsigned>(ctx.pe()) + i);
        }
        const double values[4] = {0.5 + ctx.pe(), 1.5, 2.5, 3.5};
        if (served.copy(ctx, from[0], count, to[2], next, signals[0], 5) != status::ok) return;
        if (served.put(ctx, few[1], next, values, 4, signals[1], 9, signal_op::set) != status::ok) return;
        for (bool copied = false; !copied;) {  // by requests, and then without
            const auto got = served.get(ctx, signals[0], ctx.pe());
            if (got.code != status::ok || (got.value != 0 && got.value != 5)) return;
            copied = got.value == 5;
        }
        for (std::uint64_t s = 0; s < 2; ++s) {
            if (served.wait_signal(ctx, signals[s], s == 0 ? 5 : 9) != status::ok) return;
        }
        bool right = true;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint32_t found = to.local(ctx)[i + 2];
            right = right && found == static_cast<std::uint32_t>(1000 * static_cast<unsigned>(last) + i);
        }
        const double first = few.local(ctx)[1], fourth = few.local(ctx)[4];
        if (!right || first != 0.5 + last || fourth != 3.5) atomic_add(ctx, wrong[0], 1);
        atomic_add(ctx, wrong[1], 1);
    }
};

TEST_P(service_test, ASignalComesBehindWhatIsPut) {
    every_server_in_turn([](const options& o, const service_options& s) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint32_t>(1 + o.seed % 40), to = rt.allocate<std::uint32_t>(64);
        const auto few = rt.allocate<double>(6);
        const auto signals = rt.allocate<std::uint64_t>(2), wrong = rt.allocate<std::uint64_t>(2);
        service served(rt.machine(), s, who_asks{});
        rt.run(pass_rows{from.ref(), to.ref(), few.ref(), signals.ref(), wrong.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe), (std::vector<std::uint64_t>{0, 1}));
            EXPECT_EQ(few.copy_out(pe)[0], 0);
            EXPECT_EQ(few.copy_out(pe)[5], 0);
        }
    });
}

/// Lanes hold pieces of the service's heap at the same time, and write all of them.
struct hold_pieces {
    symmetric_ref<std::uint64_t> wrong;  ///< and pieces that were had

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        const std::uint64_t id = ctx.rank() + 1;
        if (ctx.local_rank() >= 256) return;
        const std::uint64_t words = 1 + ctx.rank() % 7;
        const auto piece = served.allocate(ctx, words * sizeof(std::uint64_t));
        if (piece.code != status::ok || piece.value == nullptr) return;
        auto* const mine = static_cast<std::uint64_t*>(piece.value);
        for (std::uint64_t i = 0; i < words; ++i) mine[i] = id * 100 + i;
        if (served.call(ctx, task<who_asks>, 1).code != status::ok) return;
        bool right = true;
        for (std::uint64_t i = 0; i < words; ++i) right = right && mine[i] == id * 100 + i;
        if (served.deallocate(ctx, mine) != status::ok) right = false;
        if (served.allocate(ctx, std::uint64_t{1} << 40).code != status::no_room) right = false;
        if (served.deallocate(ctx, &right) != status::bad_range) right = false;
        if (served.deallocate(ctx, nullptr) != status::ok) right = false;
        atomic_add(ctx, wrong[right ? 1 : 0], 1);
    }
};

TEST_P(service_test, PiecesOfTheHeapAreOnesOwnUntilTheyAreFreed) {
    every_server_in_turn([](const options& o, const service_options& s) {
        if (s.by == service_by::host && o.devices.starts_with("cuda")) return;
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(2);
        service served(rt.machine(), s, who_asks{});
        for (int run = 0; run < 2; ++run) rt.run(hold_pieces{wrong.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            EXPECT_GT(wrong.copy_out(pe)[1], 0u);
        }
    });
}

using twice_by_host = host_request<std::uint64_t, std::uint64_t>;

struct ask_the_host {
    symmetric_ref<std::uint64_t> wrong;  ///< and answers that were right

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        if (ctx.local_rank() >= 64) return;
        for (std::uint64_t i = 0; i < 2; ++i) {
            const auto twice = served.call(ctx, task<twice_by_host>, ctx.rank() + i);
            if (twice.code != status::ok) return;
            atomic_add(ctx, wrong[twice.value == 2 * (ctx.rank() + i) ? 1 : 0], 1);
        }
        (void)served.post(ctx, task<twice_by_host>, std::uint64_t{1} << 40);
    }
};

TEST_P(service_test, AFunctionOfTheHostIsCalledWhoeverServes) {
    every_server_in_turn([](const options& o, const service_options& s) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(2);
        std::atomic<std::uint64_t> calls = 0, posts = 0;
        const auto twice = rt.host_calls<std::uint64_t, std::uint64_t>("twice", [&](std::uint64_t value) {
            ++(value == std::uint64_t{1} << 40 ? posts : calls);
            return 2 * value;
        });
        service served(rt.machine(), s, host_request(twice));
        rt.run(ask_the_host{wrong.ref()}, served);
        std::uint64_t right = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            right += wrong.copy_out(pe)[1];
        }
        EXPECT_GT(right, 0u);
        EXPECT_EQ(calls, right);
        EXPECT_EQ(posts, right / 2);
        EXPECT_EQ(twice.served(), s.by == service_by::host ? 0 : calls + posts) << "host threads call it themselves";
    });
}

/// Carried by a mailbox whose handlers forward nothing: the first one answers.
struct doubled {
    std::uint64_t value;
};
struct counted {
    std::uint64_t lane;
    std::uint64_t value;
};
struct double_it {
    using answer = std::uint64_t;

    template <class Ctx>
    LANEWAY_FN std::uint64_t operator()(Ctx&, const doubled& message) const {
        return 2 * message.value;
    }
};
struct count_it {
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const counted& message) const {
        atomic_add(ctx, sums[message.lane], message.value);
    }
};

/// Posts two messages of its own for each that it is asked for.
struct post_twice {
    using arguments = counted;
    using result = std::uint64_t;
    static constexpr const char* name = "post twice";
    static constexpr bool forwards = true;

    template <class Ctx, class Forward>
    LANEWAY_FN result operator()(Ctx& ctx, const counted& a, service_call& call, Forward& forward) const {
        for (int i = 0; i < 2; ++i) (void)forward.post(ctx, call.pe(), counted{a.lane, a.value << 32});
        return a.value;
    }
};

/// Each lane has as many messages sent to each PE as its number says, and more by a request of its own.
struct have_sent {
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Box, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Service& served) const {
        const std::uint64_t lane = ctx.local_rank();
        if (lane >= most_lanes) return;
        for (std::uint64_t i = 0; i <= lane % 5; ++i) {
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                if (served.send(ctx, pe, counted{lane, i + 1}) != status::ok) return;
            }
        }
        if (lane % 3 == 0) {
            const auto told = served.call(ctx, task<post_twice>, {lane, lane + 1});
            if (told.code != status::ok) return;
            if (told.value != lane + 1) atomic_add(ctx, wrong[0], 1);
        }
        const auto twice = box.call(ctx, (ctx.pe() + 1) % ctx.n_pes(), doubled{lane});
        if (!twice) return;
        if (twice.value != 2 * lane) atomic_add(ctx, wrong[0], 1);
        atomic_add(ctx, wrong[1], 1);
    }
};

/// One lane has messages sent to all PEs, which a barrier behind `quiet` waits for.
struct look_behind_a_barrier {
    static constexpr std::uint64_t messages = 40;
    symmetric_ref<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Box, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Service& served) const {
        const bool sends = ctx.pe() + 1 == ctx.n_pes() && ctx.local_rank() == 0;
        for (std::uint64_t i = 0; sends && i < messages; ++i) {
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                if (served.send(ctx, pe, counted{0, 1}) != status::ok) return;
            }
        }
        if (served.quiet(ctx) != status::ok || box.barrier(ctx) != status::ok) return;
        if (ctx.load(local(ctx, sums[0]), order::relaxed, scope::device) != messages) atomic_add(ctx, wrong[0], 1);
        atomic_add(ctx, wrong[1], 1);
    }
};

struct send_to_nobody {
    template <class Ctx, class Box, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Box&, Service& served) const {
        (void)served.send(ctx, ctx.n_pes() + 2, counted{});  // it ends the run
    }
};

TEST_P(service_test, MessagesThatRequestsPostAreServedOnce) {
    const auto served_once = [](const options& o, const service_options& s) {
        runtime rt(o);
        auto sums = rt.allocate<std::uint64_t>(most_lanes), wrong = rt.allocate<std::uint64_t>(2);
        const auto box = rt.mailbox<doubled, counted>(double_it{}, count_it{sums.ref()});
        if (s.by != service_by::warps) {
            EXPECT_THROW(service(rt.machine(), s, send_request<counted>{}), usage_error);
            return;
        }
        service served(rt.machine(), s, post_twice{}, send_request<counted>{});
        rt.run(have_sent{wrong.ref()}, box, served);
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto told = wrong.copy_out(pe), found = sums.copy_out(pe);
            EXPECT_EQ(told[0], 0u);
            ASSERT_GT(told[1], 0u);
            for (std::uint64_t lane = 0; lane < told[1]; ++lane) {
                const std::uint64_t sent = (lane % 5 + 1) * (lane % 5 + 2) / 2, asked = lane % 3 == 0 ? lane + 1 : 0;
                ASSERT_EQ(found[lane], pes * sent + (2 * asked << 32)) << lane;
            }
        }
        sums.clear();
        wrong.clear();
        rt.run(look_behind_a_barrier{sums.ref(), wrong.ref()}, box, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            EXPECT_GT(wrong.copy_out(pe)[1], 0u);
        }
        if (o.seed > 1) return;
        says(thrown<device_fault>([&] { rt.run(send_to_nobody{}, box, served); }),
             "no such PE while posting a message to PE " + std::to_string(rt.n_pes() + 2));
    };
    every_server(GetParam(), served_once, 18);
}

/// Tells who serves whom, of host threads.
struct whom_it_serves {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& n, service_call& call) const {
        if (n == 7) call.refuse(status::no_room);
        return call.by_host()
                   ? static_cast<std::uint64_t>(ctx.pe()) << 40 | static_cast<std::uint64_t>(call.pe()) << 20 | n
                   : 0;
    }
};

/// What each of several host threads asks for, and finds.
template <class Client>
class asking_thread {
public:
    asking_thread(Client& client, const symmetric_array<std::uint64_t>& words, std::uint64_t number, int pes,
                  int server)
        : client_(client), words_(words.ref()), number_(number), pes_(pes), server_(server) {}

    static constexpr std::uint64_t rounds = 12, numbers = 0, told = 1, mine = 4, of_each = 4;

    void operator()() {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const int pe = static_cast<int>((number_ + i) % static_cast<unsigned>(pes_));
            drawn_.push_back(client_.fetch_add(words_[numbers], 0, 1));
            client_.add(words_[told], pe, number_ + 1);
            const auto who = client_.call(task<whom_it_serves>, pe, i);
            const auto server = static_cast<std::uint64_t>(server_ < 0 ? pe : server_);
            EXPECT_EQ(who.code, i == 7 ? status::no_room : status::ok);
            EXPECT_EQ(who.value, server << 40 | static_cast<std::uint64_t>(pe) << 20 | i);
            client_.post(task<whom_it_serves>, pe, 1);
        }
        move();
        void* const piece = client_.allocate(pes_ - 1, 64);
        EXPECT_NE(piece, nullptr);
        EXPECT_TRUE(client_.deallocate(pes_ - 1, piece));
    }
    [[nodiscard]] const std::vector<std::uint64_t>& drawn() const { return drawn_; }

private:
    /// A put with a signal, and a copy of it to the last PE with one, each awaited.
    void move() {
        const auto at = words_[mine + of_each * number_], signal = words_[mine + of_each * number_ + 2];
        const std::uint64_t values[2] = {number_, number_ + 5};
        client_.put(at, 0, values, 2, signal);
        while (client_.get(signal, 0) == 0) std::this_thread::yield();
        client_.copy(at, 0, 2, at, pes_ - 1, signal, 7, signal_op::set);
        while (client_.get(signal, pes_ - 1) != 7) std::this_thread::yield();
        EXPECT_EQ(client_.get(words_[at.index + 1], pes_ - 1), number_ + 5);
        EXPECT_EQ(client_.template fetch<memory_op::compare_exchange>(at, pes_ - 1, 9, number_), number_);
        client_.template update<memory_op::max>(at, pes_ - 1, 3);
    }

    Client& client_;
    symmetric_ref<std::uint64_t> words_;
    std::uint64_t number_;
    int pes_, server_;
    std::vector<std::uint64_t> drawn_;
};

/// Three threads ask; what they have done is there behind two epochs. `also(client)`: asks for more between them.
template <class Service, class Also, class... Components>
void ask_by_threads(runtime& rt, const service_options& s, const symmetric_array<std::uint64_t>& words, Service& served,
                    const Also& also, const Components&... components) {
    constexpr std::uint64_t n = 3;
    const int pes = rt.n_pes();
    auto session = rt.start(served, components...);
    service_client client(session, served);
    using asking = asking_thread<decltype(client)>;
    std::vector<asking> all;
    for (std::uint64_t t = 0; t < n; ++t) all.emplace_back(client, words, t, pes, s.by == service_by::pe ? s.pe : -1);
    std::vector<std::thread> threads;
    for (auto& one : all) threads.emplace_back(std::ref(one));
    for (auto& thread : threads) thread.join();
    session.quiesce();
    also(client);
    session.quiesce();
    std::vector<bool> drawn(n * asking::rounds);
    for (const auto& one : all) {
        for (const std::uint64_t number : one.drawn()) drawn[number] = true;
    }
    EXPECT_EQ(std::count(drawn.begin(), drawn.end(), true), static_cast<std::ptrdiff_t>(drawn.size()));
    std::uint64_t told = 0;
    for (int pe = 0; pe < pes; ++pe) told += words.copy_out(pe)[asking::told];
    EXPECT_EQ(told, asking::rounds * n * (n + 1) / 2);
    const auto last = words.copy_out(pes - 1);
    for (std::uint64_t t = 0; t < n; ++t) EXPECT_EQ(last[asking::mine + asking::of_each * t], 9u);
    EXPECT_EQ(served.statistics().refused, n);
    session.stop();
    EXPECT_EQ(served.statistics().refused, n);
}

TEST_P(service_test, HostThreadsAskInASession) {
    runtime rt(session_of(options_of(GetParam(), 5), 60));
    const auto words = rt.allocate<std::uint64_t>(16);
    service served(rt.machine(), whom_it_serves{}, post_twice{});
    const auto box = rt.mailbox<counted>(count_it{words.ref()});
    const auto post_messages = [](auto& client) {
        EXPECT_EQ(client.call(task<post_twice>, 0, counted{3, 21}).value, 21u);
    };
    ask_by_threads(rt, {}, words, served, post_messages, box);
    EXPECT_EQ(words.copy_out(0)[3], std::uint64_t{42} << 32);
}

TEST_P(service_test, OnePeAnswersHostThreadsForAll) {
    options o = session_of(options_of(GetParam(), 5), 60);
    o.lease_seconds = 1e-5;
    runtime rt(o);
    const auto words = rt.allocate<std::uint64_t>(16);
    const service_options s{.by = service_by::pe, .pe = rt.n_pes() / 2};
    service served(rt.machine(), s, whom_it_serves{});
    ask_by_threads(rt, s, words, served, [](auto&) {});
}

LANEWAY_ON_DEVICES(service_test, remote_devices());

}  // namespace
}  // namespace laneway::test
