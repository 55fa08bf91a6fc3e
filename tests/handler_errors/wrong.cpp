// What must not compile: each line that says so in a comment, with one error that contains these words.
#include "handlers.hpp"

struct forwards_is_missing {
    using answer = std::uint64_t;
    template <class Ctx, class Forward>
    LANEWAY_FN answer operator()(Ctx&, const question& q, Forward&) const {
        return q.value;
    }
};
void use(context& ctx, allocating_box_of<forwards_is_missing>& box) {
    (void)box.call(ctx, 0, question{});  // error: it must say `static constexpr bool forwards = true;`
}

struct poster_is_missing {
    using answer = std::uint64_t;
    static constexpr bool forwards = true;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const question& q) const {
        return q.value;
    }
};
void use(context& ctx, allocating_box_of<poster_is_missing>& box) {
    (void)box.call(ctx, 0, question{});  // error: `Forward&` last where it says `forwards = true`
}

struct answer_is_missing {
    template <class Ctx>
    LANEWAY_FN std::uint64_t operator()(Ctx&, const question& q) const {
        return q.value;
    }
};
void call(context& ctx, allocating_box_of<answer_is_missing>& box) {
    (void)box.call(ctx, 0, question{});  // error: box.call needs a handler that answers: one that says `using answer
}
struct nobody_asks : answer_is_missing {};
void use(context& ctx, allocating_box_of<nobody_asks>& box) {
    (void)box.post(ctx, 0, question{});  // error: returns a value: it must say `using answer = R;`
}

struct returns_another_type {
    using answer = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN std::uint32_t operator()(Ctx&, const question&) const {
        return 0;
    }
};
void use(context& ctx, allocating_box_of<returns_another_type>& box) {
    (void)box.call(ctx, 0, question{});  // error: must return the type that it names by `using answer = R;`
}

struct element_is_missing {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
void use(context& ctx, allocating_box_of<element_is_missing>& box) {
    (void)box.post(ctx, 0, question{});  // error: takes a payload: it must say `using element = E;`
}
struct elements_are_posted : element_is_missing {};
void use(context& ctx, allocating_box_of<elements_are_posted>& box) {
    const std::uint64_t words[1] = {};
    (void)box.post(ctx, 0, question{}, words, 1);  // error: one that says `using element = E;`
}

struct allocates_is_missing {
    using element = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN lw::symmetric_ptr<std::uint64_t> allocate(Ctx&, const question&, std::uint64_t) const {
        return lw::rejected<std::uint64_t>();
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
void use(context& ctx, allocating_box_of<allocates_is_missing>& box) {
    const std::uint64_t words[1] = {};
    (void)box.post(ctx, 0, question{}, words, 1);  // error: it must say `static constexpr bool allocates = true;`
}

struct allocate_is_missing {
    using element = std::uint64_t;
    static constexpr bool allocates = true;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
void use(context& ctx, allocating_box_of<allocate_is_missing>& box) {
    const std::uint64_t words[1] = {};
    (void)box.post(ctx, 0, question{}, words, 1);  // error: says `allocates = true`: it must have `allocate
}

struct serves_another_message {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const std::string&) const {}
};
void use(context& ctx, allocating_box_of<serves_another_message>& box) {
    (void)box.post(ctx, 0, question{});  // error: a handler has `operator
}

void not_of_the_mailbox(context& ctx, allocating_box_of<forwarding>& box) {
    (void)box.post(ctx, 0, std::string{});  // error: this mailbox carries no message of this type
}

// Numbers that the message's type may not hold.
void fraction(context& ctx, numbers_box& box) {
    (void)box.post(ctx, 0, 3.5);  // error: this number may lose a fraction or bits as a message of this mailbox
}
void more_bits_than_a_double_holds(context& ctx, floats_box& box) {
    (void)box.post(ctx, 0, std::uint64_t{3});  // error: this number may lose a fraction or bits as a message
}
void sign(context& ctx, numbers_box& box) {
    (void)box.post(ctx, 0, -1);  // error: a_negative_number_is_no_message_of_an_unsigned_type
}
void perhaps_a_sign(context& ctx, numbers_box& box, int variable) {
    (void)box.post(ctx, 0, variable);  // error: is not a constant expression
}
void calls_convert_nothing(context& ctx, numbers_box& box) {
    (void)box.call(ctx, 0, 3);  // error: box.call takes a message of just a type of the mailbox
}
void fraction_for_the_host(context& ctx, const lw::host_calls_ref<std::uint64_t, lw::no_reply>& calls) {
    (void)calls.post(ctx, 3.5);  // error: this number may lose a fraction or bits as a request
}
void sign_for_the_host(context& ctx, const lw::host_calls_ref<std::uint64_t, std::uint64_t>& calls) {
    (void)calls.call(ctx, -1);  // error: a_negative_number_is_no_message_of_an_unsigned_type
}

// What the host gives to a run or a session.
void type_twice(lw::runtime& runtime) {
    (void)runtime.mailbox<question, question>(of_numbers{}, of_numbers{});  // error: types of a mailbox's messages
}
void type_twice_one_sided(lw::runtime& runtime) {
    (void)runtime.one_sided<question, question>(of_numbers{}, of_numbers{});  // error: types of a mailbox's messages
}
void nobody_takes_it(lw::runtime& runtime) {
    auto triggers = runtime.triggers().with(runtime.mailbox<question>(forwarding{}));
    const auto operation = lw::trigger_operation::nothing(0);
    triggers.prepare(0, 0, 1, operation.start(2.5));  // error: no mailbox that these triggers were made with carries
}
void its_end_is_not_told(lw::runtime& runtime) {
    auto triggers = runtime.triggers().with(runtime.mailbox<question>(forwarding{}));
    const auto operation = lw::trigger_operation::nothing(0);
    triggers.prepare(0, 0, 1, operation.start(question{}).when_done());  // error: triggers were made with as followed
}
void nobody_would_call_them(lw::runtime& runtime) {
    auto sums = runtime.collectives();
    (void)runtime.start(sums);  // error: a session without a body has no lanes that would meet
}
void nobody_would_take_them(lw::runtime& runtime) {
    lw::index_space indices(3);
    (void)runtime.start(indices);  // error: a session without a body hands out no indices
}
void one_of_two(lw::runtime& runtime) {
    const auto first = runtime.mailbox<question>(forwarding{}), second = runtime.mailbox<question>(forwarding{});
    auto session = runtime.start(first, second);
    session.post(first, 0, question{});
    session.post(0, question{});  // error: two mailboxes of the session carry messages of this type
}
void no_such_mailbox(lw::runtime& runtime) {
    auto session = runtime.start(runtime.mailbox<question>(forwarding{}));
    session.post(runtime.mailbox<double>(of_numbers{}), 0, 3.5);  // error: the session has no such mailbox
}
struct asks_for_no_agent {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&) const {}
};
void gives_an_agent(lw::runtime& runtime) {
    auto sums = runtime.collectives();
    runtime.run(asks_for_no_agent{}, sums);  // error: a body is called as body(ctx, agents...), with one agent for each
}
struct asks_for_no_index {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx&, Sums&) const {}
};
void gives_indices(lw::runtime& runtime) {
    auto sums = runtime.collectives();
    runtime.for_each(9, asks_for_no_index{}, sums);  // error: and for_each's as body(ctx, i, agents...)
}
void is_made_ready_when_a_run_begins(lw::runtime& runtime) {
    const lw::index_space indices(3);
    runtime.run(asks_for_no_index{}, indices);  // error: a run prepares this component, so it may not be const
}

struct on_cpus {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    static constexpr bool from_lanes = true;
    static constexpr auto runs_on = lw::task_devices::cpu;
};
// Lanes of any device submit it.
constexpr auto types = lw::task_starter<on_cpus>::count;  // error: starts on the device of its tag, which its runs_on
