// Messages and handlers that the files of this folder share.
#pragma once

#include <string>

#include "laneway/runtime.hpp"
#include "laneway/simt/cpu/context.hpp"
#include "laneway/task/task_starter.hpp"

namespace lw = laneway;
using context = lw::cpu::context;

struct question {
    std::uint64_t value;
};

struct no_idling {
    void operator()() const {}
};

/// What a lane holds of a mailbox whose handlers serve these messages.
template <class Handler, class... Messages>
using box_of = lw::endpoint<context, lw::routes<lw::route<Messages, Handler>...>, no_idling>;
/// The same where handlers may allocate.
template <class Handler>
using allocating_box_of =
    lw::endpoint<context, decltype(lw::with_allocations(lw::routes<lw::route<question, Handler>>{})), no_idling>;

/// Right: it answers, and forwards.
struct forwarding {
    using answer = std::uint64_t;
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN answer operator()(Ctx& ctx, const question& q, Forward& forward) const {
        if (q.value > 1) (void)forward.post(ctx, 0, question{q.value - 1});
        return q.value;
    }
};

/// Right: of numbers as well.
struct of_numbers {
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
using numbers_box = box_of<of_numbers, std::uint64_t, question>;
using floats_box = box_of<of_numbers, double>;
