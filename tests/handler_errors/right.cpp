// Handlers and posts that are as they should be, beside those of wrong.cpp: must compile.
#include "handlers.hpp"

using forwarding_box = allocating_box_of<forwarding>;
void use(context& ctx, forwarding_box& box) { (void)box.call(ctx, 0, question{}); }

// It could allocate, and says that it does not.
struct does_not_allocate {
    using element = std::uint64_t;
    static constexpr bool allocates = false;
    template <class Ctx>
    LANEWAY_FN lw::symmetric_ptr<std::uint64_t> allocate(Ctx&, const question&, std::uint64_t) const {
        return lw::rejected<std::uint64_t>();
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const question&, lw::payload<const std::uint64_t>) const {}
};
void use(context& ctx, allocating_box_of<does_not_allocate>& box) {
    const std::uint64_t words[1] = {};
    (void)box.post(ctx, 0, question{}, words, 1);
}

// What holds the whole number, also without its sign, and what is written as a message.
enum small : std::uint8_t { one = 1 };
void use(context& ctx, numbers_box& box, floats_box& of_floats) {
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
void use(context& ctx, const lw::host_calls_ref<std::uint64_t, std::uint64_t>& calls) {
    (void)calls.call(ctx, 1);
    (void)calls.post(ctx, 1u);
    (void)calls.post(ctx, std::uint64_t{1});
}
