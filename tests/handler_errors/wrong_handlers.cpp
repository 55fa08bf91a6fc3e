// Handlers that have not the form that they claim, a CASE each: compiling one must fail with a line that says why.
#include <string>

#include "laneway/comm/endpoint.hpp"
#include "laneway/simt/cpu/context.hpp"
#if CASE >= 17
#include "laneway/runtime.hpp"
#include "laneway/task/task_starter.hpp"
#endif

namespace lw = laneway;

struct question {
    std::uint64_t value;
};

#if CASE == 0 || CASE == 11 || CASE == 24 || CASE == 25 || CASE >= 27  // right
struct handler {
    using answer = std::uint64_t;
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN answer operator()(Ctx& ctx, const question& q, Forward& forward) const {
        if (q.value > 1) (void)forward.post(ctx, 0, question{q.value - 1});
        return q.value;
    }
};
#elif CASE == 1               // forwards is missing
struct handler {
    using answer = std::uint64_t;
    template <class Ctx, class Forward>
    LANEWAY_FN answer operator()(Ctx&, const question& q, Forward&) const {
        return q.value;
    }
};
#elif CASE == 2               // the poster is missing
struct handler {
    using answer = std::uint64_t;
    static constexpr bool forwards = true;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const question& q) const {
        return q.value;
    }
};
#elif CASE == 3               // the answer's type is missing, and is asked for
struct handler {
    template <class Ctx>
    LANEWAY_FN std::uint64_t operator()(Ctx&, const question& q) const {
        return q.value;
    }
};
#elif CASE == 4               // another type is returned
struct handler {
    using answer = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN std::uint32_t operator()(Ctx&, const question&) const {
        return 0;
    }
};
#elif CASE == 5               // the answer's type is missing, and nobody asks
struct handler {
    template <class Ctx>
    LANEWAY_FN std::uint64_t operator()(Ctx&, const question& q) const {
        return q.value;
    }
};
#elif CASE == 6 || CASE == 7  // the element's type is missing; so it is where elements are posted
struct handler {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
#elif CASE == 8               // allocates is missing
struct handler {
    using element = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN lw::symmetric_ptr<std::uint64_t> allocate(Ctx&, const question&, std::uint64_t) const {
        return lw::rejected<std::uint64_t>();
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
#elif CASE == 9               // allocate is missing
struct handler {
    using element = std::uint64_t;
    static constexpr bool allocates = true;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
#elif CASE == 12              // right: it could allocate, and says that it does not
struct handler {
    using element = std::uint64_t;
    static constexpr bool allocates = false;
    template <class Ctx>
    LANEWAY_FN lw::symmetric_ptr<std::uint64_t> allocate(Ctx&, const question&, std::uint64_t) const {
        return lw::rejected<std::uint64_t>();
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
#elif CASE >= 13              // right; messages are numbers
enum small : std::uint8_t { one = 1 };
struct handler {
    using answer = std::int32_t;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const std::uint64_t& number) const {
        return static_cast<answer>(number);
    }
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const double&) const {
        return 0;
    }
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const question& q) const {
        return static_cast<answer>(q.value);
    }
};
#elif CASE == 10              // serves another message
struct handler {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const std::string&) const {}
};
#endif

struct no_idling {
    void operator()() const {}
};
#if CASE >= 13
using all_routes = lw::routes<lw::route<std::uint64_t, handler>, lw::route<question, handler>>;
using floats = lw::endpoint<lw::cpu::context, lw::routes<lw::route<double, handler>>, no_idling>;
#else
using all_routes = decltype(lw::with_allocations(lw::routes<lw::route<question, handler>>{}));
#endif
using box_type = lw::endpoint<lw::cpu::context, all_routes, no_idling>;

#if CASE < 13
void use(lw::cpu::context& ctx, box_type& box) {
#if CASE == 11  // not a message of the mailbox
    (void)box.post(ctx, 0, std::string{});
#elif CASE <= 4
    (void)box.call(ctx, 0, question{});
#elif (CASE >= 7 && CASE <= 9) || CASE == 12
    const std::uint64_t words[1] = {};
    (void)box.post(ctx, 0, question{}, words, 1);
#else
    (void)box.post(ctx, 0, question{});
#endif
}
#elif CASE == 13  // right: what holds the whole number, also without its sign, and what is written as a message
void use(lw::cpu::context& ctx, box_type& box, floats& of_floats) {
    (void)box.post(ctx, 0, 3);
    (void)box.post(ctx, 0, 3u);
    (void)box.post(ctx, 0, std::uint64_t{3});
    (void)box.post(ctx, 0, std::int64_t{3});
    constexpr int constant = 3;
    (void)box.post(ctx, 0, constant);
    (void)box.post(ctx, 0, 'c');
    (void)box.post(ctx, 0, true);
    (void)box.post(ctx, 0, one);
    (void)box.post(ctx, 0, question{3});
    (void)box.post(ctx, 0, static_cast<std::uint64_t>(3.5));
    (void)box.call(ctx, 0, std::uint64_t{3});
    (void)of_floats.post(ctx, 0, 3.5F);
    (void)of_floats.post(ctx, 0, 3);
    (void)of_floats.post(ctx, 0, {3.5});
    (void)of_floats.post(ctx, 0, -3);
}
#elif CASE == 14  // a fraction
void use(lw::cpu::context& ctx, box_type& box) { (void)box.post(ctx, 0, 3.5); }
#elif CASE == 15  // more bits than a double holds
void use(lw::cpu::context& ctx, floats& box) { (void)box.post(ctx, 0, std::uint64_t{3}); }
#elif CASE == 16  // calls convert nothing
void use(lw::cpu::context& ctx, box_type& box) { (void)box.call(ctx, 0, 3); }
#elif CASE == 17  // a type twice
void use(lw::runtime& runtime) { (void)runtime.mailbox<question, question>(handler{}, handler{}); }
#elif CASE == 18  // a fraction for the host
void use(lw::cpu::context& ctx, const lw::host_calls_ref<std::uint64_t, lw::no_reply>& calls) {
    (void)calls.post(ctx, 3.5);
}
#elif CASE == 19  // a type twice
void use(lw::runtime& runtime) { (void)runtime.one_sided<question, question>(handler{}, handler{}); }
#elif CASE == 20  // a sign
void use(lw::cpu::context& ctx, box_type& box) { (void)box.post(ctx, 0, -1); }
#elif CASE == 21  // perhaps a sign
void use(lw::cpu::context& ctx, box_type& box, int variable) { (void)box.post(ctx, 0, variable); }
#elif CASE == 22  // a sign, for the host
void use(lw::cpu::context& ctx, const lw::host_calls_ref<std::uint64_t, std::uint64_t>& calls) {
    (void)calls.call(ctx, -1);
}
#elif CASE == 23  // right: the same with numbers that are not negative
void use(lw::cpu::context& ctx, const lw::host_calls_ref<std::uint64_t, std::uint64_t>& calls) {
    (void)calls.call(ctx, 1);
    (void)calls.post(ctx, 1u);
    (void)calls.post(ctx, std::uint64_t{1});
}
#elif CASE == 24  // nobody takes it
void use(lw::runtime& runtime) {
    auto triggers = runtime.triggers().with(runtime.mailbox<question>(handler{}));
    triggers.prepare(0, 0, 1, lw::trigger_operation::nothing(0).start(2.5));
}
#elif CASE == 25  // nobody would call them
void use(lw::runtime& runtime) {
    auto sums = runtime.collectives();
    (void)runtime.start(sums);
}
#elif CASE == 26  // lanes of any device submit it
struct on_cpus {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    static constexpr bool from_lanes = true;
    static constexpr auto runs_on = lw::task_devices::cpu;
};
constexpr std::uint32_t types = lw::task_starter<on_cpus>::count;
#elif CASE == 27  // nobody would take them
void use(lw::runtime& runtime) {
    lw::index_space indices(3);
    (void)runtime.start(indices);
}
#elif CASE == 28  // its end is not told
void use(lw::runtime& runtime) {
    auto triggers = runtime.triggers().with(runtime.mailbox<question>(handler{}));
    triggers.prepare(0, 0, 1, lw::trigger_operation::nothing(0).start(question{}).when_done());
}
#elif CASE == 29  // takes its memory when a run begins
struct add_up {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        (void)sums.barrier(ctx);
    }
};
void use(lw::runtime& runtime) {
    const auto sums = runtime.collectives();
    runtime.run(add_up{}, sums);
}
#endif
