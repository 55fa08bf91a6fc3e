// Services asked for what cannot be, or that never answer: errors name the request type, the block and the PE.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "service_job.hpp"

namespace laneway::test {
namespace {

class service_misuse_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job(service_by by, double seconds = 20) const {
        options o = job_for(by, options_of(GetParam(), 0));
        o.cpu_threads = 1;
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : seconds;
        return o;
    }
};

/// What a request does wrong.
enum class goes : std::uint32_t { well, failing, refused, on_for_ever };

struct goes_wrong {
    using arguments = std::uint32_t;
    using result = void;
    static constexpr const char* name = "goes wrong";

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& how, service_call& call) const {
        if (how == static_cast<std::uint32_t>(goes::failing)) call.fail();
        if (how == static_cast<std::uint32_t>(goes::refused)) call.refuse(status::handler_failed);
        if (how != static_cast<std::uint32_t>(goes::on_for_ever)) return;
        while (!call.ends(ctx)) ctx.pause(1);
    }
};

/// What a service can be asked for by type.
template <class Service, class Ctx, memory_op Op>
concept updates = requires(Service& served, Ctx& ctx, symmetric_ptr<std::uint64_t> at) {
    served.template update<Op>(ctx, at, 0, 1);
};
template <class Service, class Ctx, memory_op Op>
concept fetches = requires(Service& served, Ctx& ctx, symmetric_ptr<std::uint64_t> at) {
    served.template fetch<Op>(ctx, at, 0, 1);
};

/// What one lane of the last PE does wrong.
enum class wrong : std::uint32_t {
    pe,
    address,
    source,
    signal,
    much,
    get_pe,
    get_much,
    get_source,
    get_target,
    waited,
    call_fails,
    post_fails,
    never,
    full
};

struct ask_wrongly {
    wrong what;
    symmetric_ref<std::uint64_t> words;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        static_assert(updates<Service, Ctx, memory_op::bit_or> && updates<Service, Ctx, memory_op::put>);
        static_assert(!updates<Service, Ctx, memory_op::get> && !updates<Service, Ctx, memory_op::exchange>);
        static_assert(!updates<Service, Ctx, memory_op::compare_exchange>);
        static_assert(fetches<Service, Ctx, memory_op::exchange> && !fetches<Service, Ctx, memory_op::put>);
        if (ctx.pe() == ctx.n_pes() - 1 && is_first_lane(ctx)) (void)act(ctx, served);  // it ends the run
    }

private:
    template <class Ctx, class Service>
    LANEWAY_FN status act(Ctx& ctx, Service& served) const {
        const std::uint64_t values[8] = {};
        const auto ask = [&](goes how) { return static_cast<std::uint32_t>(how); };
        switch (what) {
            case wrong::pe: return served.put(ctx, words[0], ctx.n_pes() + 2, 1);
            case wrong::address: return served.fetch_add(ctx, words[4], 0, 1).code;
            case wrong::source: return served.copy(ctx, words[3], 2, words[0], 0);
            case wrong::signal: return served.copy(ctx, words[0], 2, words[1], 0, words[6]);
            case wrong::much: return served.put(ctx, words[0], 0, values, 4, words[9]);
            case wrong::get_pe: return served.get(ctx, words[0], -3, words[1], 1);
            case wrong::get_much: return served.get(ctx, words[0], 0, words[2], 3);
            case wrong::get_source: return served.get(ctx, words[3], 0, words[0], 2);
            case wrong::get_target: return served.copy_from(ctx, words[0], 0, 2, words[0], words[5]);
            case wrong::waited: return served.wait_signal(ctx, words[2], 1);
            case wrong::call_fails: return served.call(ctx, task<goes_wrong>, ask(goes::failing)).code;
            case wrong::post_fails: return served.post(ctx, task<goes_wrong>, ask(goes::failing));
            case wrong::never: return served.call(ctx, task<goes_wrong>, ask(goes::on_for_ever)).code;
            default:
                while (served.post(ctx, task<goes_wrong>, ask(goes::on_for_ever)) == status::ok) {
                }
                return status::stopped;
        }
    }
};

TEST_P(service_misuse_test, WhatLanesNameMustExist) {
    for (const service_by by : all_servers) {
        runtime rt(job(by));
        const auto words = rt.allocate<std::uint64_t>(4);
        service served(rt.machine(), served_by(by, options{}), goes_wrong{});
        const auto told_of = [&](wrong what) {
            return thrown<device_fault>([&] { rt.run(ask_wrongly{what, words.ref()}, served); });
        };
        const std::string last = std::to_string(rt.n_pes() - 1);
        says(told_of(wrong::pe), "no such PE while putting to PE " + std::to_string(rt.n_pes() + 2));
        says(
            told_of(wrong::address),
            "an address outside symmetric memory while doing an atomic operation on PE 0: element 4, where there are 0 "
            "to 3");
        says(told_of(wrong::source), "an address outside symmetric memory while getting from PE " + last +
                                         ": element 4, where there are 0 to 3");
        says(told_of(wrong::signal),
             "an address outside symmetric memory while putting to PE 0: element 6, where there are 0 to 3");
        says(told_of(wrong::get_pe), "no such PE while getting from PE -3");
        says(told_of(wrong::get_much), "while getting from PE " + last + ": element 4, where there are 0 to 3");
        says(told_of(wrong::get_source), "while getting from PE 0: element 4, where there are 0 to 3");
        says(told_of(wrong::get_target), "while putting to PE " + last + ": element 5, where there are 0 to 3");
        says(told_of(wrong::much), "while putting to PE 0: element 9, where there are 0 to 3");
        EXPECT_NO_THROW(rt.run(do_nothing{}, served));  // nothing is left of what failed
        EXPECT_EQ(served.statistics().requests, 0u);
    }
}

TEST_P(service_misuse_test, ASignalThatNeverComesIsNamedPastTheDeadline) {
    for (const service_by by : all_servers) {
        runtime rt(job(by, 1));
        const auto words = rt.allocate<std::uint64_t>(4);
        service served(rt.machine(), served_by(by, options{}), goes_wrong{});
        const std::string last = std::to_string(rt.n_pes() - 1);
        says(thrown<timeout_error>([&] {
                 rt.run(ask_wrongly{wrong::waited, words.ref()}, served);
             }),
             "deadline passed while waiting for a signal on PE " + last + ": value 1; the deadline is");
        EXPECT_NO_THROW(rt.run(do_nothing{}, served));  // nothing is left of what failed
        EXPECT_EQ(served.statistics().requests, 0u);
    }
}

TEST_P(service_misuse_test, ARequestThatFailsIsNamed) {
    for (const service_by by : all_servers) {
        runtime rt(job(by, 5));
        const auto words = rt.allocate<std::uint64_t>(4);
        service served(rt.machine(), served_by(by, options{}), who_asks{}, goes_wrong{});
        const std::string last = std::to_string(rt.n_pes() - 1);
        for (const wrong what : {wrong::call_fails, wrong::post_fails}) {
            if (by == service_by::host) {
                const std::string text = thrown<host_call_error>([&] {
                    rt.run(ask_wrongly{what, words.ref()}, served);
                });
                says(text, "service: request type 7 'goes wrong' of PE " + last + ", block ");
                says(text, ": the request failed");
                continue;
            }
            const std::string text = thrown<device_fault>([&] { rt.run(ask_wrongly{what, words.ref()}, served); });
            says(text, "PE " + (by == service_by::pe ? "0" : last) + " (");
            says(text, "the application reported an error while serving a request of PE " + last +
                           ": request type 7, from its block ");
            says(text, by == service_by::pe ? "; service by warps of PE 0: 1 slots posted"
                                            : "; service by warps of the same PE: 1 slots posted");
            says(text, ", 6 who, 7 goes wrong");
        }
        EXPECT_NO_THROW(rt.run(do_nothing{}, served));
    }
}

TEST_P(service_misuse_test, AServerThatNeverAnswersIsNamedPastTheDeadline) {
    for (const service_by by : {service_by::host, service_by::pe}) {
        runtime rt(job(by, 1));
        // In threads mode who waits is who serves: then nobody is late but the server.
        if (by == service_by::pe && (rt.n_pes() == 1 || is_checked(GetParam()))) continue;
        const auto words = rt.allocate<std::uint64_t>(4);
        service_options s = served_by(by, options{});
        s.slots = 2;
        service served(rt.machine(), s, goes_wrong{});
        const std::string whose = by == service_by::pe ? " of PE 0" : "";
        if (is_checked(GetParam())) continue;  // the time of host threads is not theirs
        says(thrown<timeout_error>([&] {
                 rt.run(ask_wrongly{wrong::never, words.ref()}, served);
             }),
             "deadline passed while waiting for a service" + whose + ": request type 6; the deadline is");
        says(thrown<timeout_error>([&] {
                 rt.run(ask_wrongly{wrong::full, words.ref()}, served);
             }),
             "deadline passed while posting a request to a service" + whose + ": request type 6; the deadline is");
        EXPECT_NO_THROW(rt.run(do_nothing{}, served));
        EXPECT_EQ(served.statistics().requests, 0u);
    }
}

#if !defined(__CUDACC__)
struct unlucky {
    using arguments = no_arguments;
    using result = std::uint64_t;
    template <class Ctx>
    result operator()(Ctx&, const arguments&) const {
        throw std::runtime_error("no luck");
    }
};
struct ask_the_unlucky {
    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        if (ctx.pe() == ctx.n_pes() - 1 && is_first_lane(ctx)) (void)served.call(ctx, task<unlucky>, {});
    }
};

TEST_P(service_misuse_test, WhatARequestThrowsIsTold) {
    for (const service_by by : all_servers) {
        runtime rt(job(by, 5));
        service served(rt.machine(), served_by(by, options{}), unlucky{});
        const std::string last = std::to_string(rt.n_pes() - 1);
        if (by == service_by::host) {
            const std::string text = thrown<host_call_error>([&] { rt.run(ask_the_unlucky{}, served); });
            says(text, "service: request type 6 'without a name' of PE " + last + ", block ");
            says(text, ": no luck");
        } else {
            const std::string text = thrown<lane_error>([&] { rt.run(ask_the_unlucky{}, served); });
            says(text, "exception in request type 6 of a service while serving PE " + last + ", block ");
            says(text, ": no luck");
        }
    }
}
#endif

TEST_P(service_misuse_test, TheHostRefusesWhatCannotBe) {
    runtime rt(job(service_by::warps)), other(job(service_by::warps));
    const auto refused = [&](const service_options& s) {
        return thrown<usage_error>([&] { service(rt.machine(), s, who_asks{}); });
    };
    EXPECT_EQ(refused({.slots = 0}), "service: slots: 1 to 64, not 0");
    EXPECT_EQ(refused({.slots = 65}), "service: slots: 1 to 64, not 65");
    EXPECT_EQ(refused({.by = service_by::host, .threads = 0}), "service: threads: 1 to 64, not 0");
    EXPECT_EQ(refused({.by = service_by::pe, .pe = 9}),
              "service: pe: 0 to " + std::to_string(rt.n_pes() - 1) + ", not 9");
    EXPECT_EQ(refused({.server_share = 1}), "service: server_share: between 0 and 1");
    service served(rt.machine(), who_asks{});
    EXPECT_EQ(thrown<usage_error>([&] { other.run(do_nothing{}, served); }),
              "a service belongs to the runtime that has made it");
    const service of_one(rt.machine(), {.by = service_by::pe, .heap_bytes = 1 << 20}, who_asks{});
    for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(of_one.held_bytes(pe) >= 1 << 20, pe == 0) << "who serves";
    auto same = served;
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(do_nothing{}, served, same); }),
              "a component may be given to a run once only");
    triggers fired = rt.triggers(), also = fired;
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(do_nothing{}, fired, also); }),
              "a component may be given to a run once only");
}

#if !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Its arguments take the most room that they may.
struct much_told {
    struct arguments {
        std::uint64_t words[32];
    };
    using result = std::uint64_t;
    template <class Ctx>
    result operator()(Ctx&, const arguments& a) const {
        return a.words[31] + 1;
    }
};
struct tell_much {
    symmetric_ref<std::uint64_t> right;
    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        much_told::arguments told{};
        told.words[31] = ctx.rank();
        const auto got = served.call(ctx, task<much_told>, told);
        if (got.code == status::ok && got.value == ctx.rank() + 1) atomic_add(ctx, right[0], 1);
    }
};

TEST_P(service_misuse_test, ARunWithoutMemoryLeavesNothingThatTheNextWouldUse) {
    for (const service_by by : all_servers) {
        if (is_checked(GetParam())) return;
        options o = job(by, 5);
        o.cpu_threads = 16;
        runtime rt(o);
        auto right = rt.allocate<std::uint64_t>(1);
        const auto with_slots = [&](std::uint32_t slots) {
            return service(rt.machine(), {.by = by, .slots = slots, .heap_bytes = 0}, much_told{});
        };
        auto small = with_slots(1), large = with_slots(64);
        rt.run(tell_much{right.ref()}, small);  // what the program needs beside the service is there
        right.clear();
        rlimit before{};
        ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
        rlimit none = before;
        none.rlim_cur = 1;
        ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
        const std::string text = thrown<system_error>([&] { rt.run(tell_much{right.ref()}, large); });
        ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
        says(text, "no memory for ");
        rt.run(tell_much{right.ref()}, large);
        std::uint64_t sum = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) sum += right.copy_out(pe)[0];
        EXPECT_EQ(sum, large.statistics().requests);
        EXPECT_GT(sum, 0u);
    }
}
#endif

TEST_P(service_misuse_test, HostThreadsAskForWhatCannotBe) {
    runtime rt(session_of(job(service_by::warps), 60));
    const auto words = rt.allocate<std::uint64_t>(4);
    service served(rt.machine(), goes_wrong{});
    const std::string pes = std::to_string(rt.n_pes());
    service by_host(rt.machine(), {.by = service_by::host}, goes_wrong{});
    says(thrown<usage_error>([&] { (void)rt.start(by_host); }), "in a session host threads ask, and warps serve");
    {
        auto session = rt.start(served);
        service_client client(session, served);
        EXPECT_EQ(thrown<usage_error>([&] { client.put(words.ref()[0], 9, 1); }),
                  "service: PE 9 does not exist; there are " + pes);
        EXPECT_EQ(thrown<usage_error>([&] { client.add(words.ref()[4], 0, 1); }),
                  "service: an address outside symmetric memory of PE 0: element 4, where there are 0 to 3");
        EXPECT_EQ(thrown<usage_error>([&] { (void)client.get(symmetric_ptr<std::uint64_t>{}, 0); }),
                  "service: an address outside symmetric memory of PE 0: element 0, where there are none");
        const std::uint64_t five[5] = {};
        EXPECT_EQ(thrown<usage_error>([&] {
                      client.put(words.ref()[0], 0, five, 4);
                      client.put(words.ref()[0], 0, five, 5);
                  }),
                  "service: an address outside symmetric memory of PE 0: element 4, where there are 0 to 3");
        EXPECT_EQ(thrown<usage_error>([&] { rt.run(do_nothing{}, served); }),
                  "the service belongs to a session that has not been stopped");
        client.post(task<goes_wrong>, 0, 0);
        EXPECT_EQ(client.call(task<goes_wrong>, 0, static_cast<std::uint32_t>(goes::refused)).code,
                  status::handler_failed);
        EXPECT_GE(session.quiesce().posted, 2u) << "the epoch went on";
        says(thrown<device_fault>(
                 [&] { (void)client.call(task<goes_wrong>, 0, static_cast<std::uint32_t>(goes::failing)); }),
             "the application reported an error while serving a request of PE 0: request type 6, for the host");
    }
    auto session = rt.start(served);
    service_client client(session, served);
    EXPECT_TRUE(client.call(task<goes_wrong>, 0, 0)) << "another session works";
    session.stop();
    EXPECT_THROW((void)client.call(task<goes_wrong>, 0, 0), usage_error);
}

TEST_P(service_misuse_test, ARequestOfTheHostThatNeverEndsIsLate) {
    runtime rt(session_of(job(service_by::warps), 1));
    service served(rt.machine(), goes_wrong{});
    auto session = rt.start(served);
    service_client client(session, served);
    const auto ask = [&] { (void)client.call(task<goes_wrong>, 0, static_cast<std::uint32_t>(goes::on_for_ever)); };
    says(thrown<timeout_error>(ask), "the deadline is");
}

#if !defined(__CUDACC__)
TEST_P(service_misuse_test, WhatARequestOfTheHostThrowsIsTold) {
    runtime rt(session_of(job(service_by::warps), 60));
    service served(rt.machine(), unlucky{});
    auto session = rt.start(served);
    service_client client(session, served);
    says(thrown<lane_error>([&] { (void)client.call(task<unlucky>, 0, {}); }),
         "exception in request type 6 of a service for the host: no luck");
}
#endif

LANEWAY_ON_DEVICES(service_misuse_test, remote_devices());

}  // namespace
}  // namespace laneway::test
