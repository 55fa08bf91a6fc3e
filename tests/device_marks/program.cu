// Code of an application that nvcc sees once with MARK as LANEWAY_FN, and compiles, and once without any mark: then
// each struct here must be named by an error, as a GPU would run an empty body in its place.
#include "laneway/flow/worklist_ref.hpp"
#include "laneway/runtime.hpp"

struct question {
    std::uint64_t value;
};
struct word {
    std::uint64_t value;
};
struct text {
    std::uint64_t value;
};

struct plain_handler {
    template <class Ctx>
    MARK void operator()(Ctx&, const word&) const {}
};
struct answering_handler {
    using answer = word;
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    MARK answer operator()(Ctx& ctx, const question& q, Forward& forward) const {
        if (q.value > 1) (void)forward.post(ctx, 0, question{q.value - 1});
        return {q.value};
    }
};
struct handler_of_payload {
    using element = std::uint64_t;
    template <class Ctx>
    MARK void operator()(Ctx&, const text&, lw::payload<const std::uint64_t>) const {}
};
struct functor {
    template <class Ctx, class Box>
    MARK void operator()(Ctx& ctx, Box& box) const {
        (void)box.post(ctx, 0, question{2});
    }
};
// Not a template: nvcc says it in other words.
struct host_functor {
    MARK void operator()(lw::cuda_backend::context&, auto&) const {}
    MARK void operator()(auto&, auto&) const {}
};

struct allocating_handler {
    using element = std::uint64_t;
    static constexpr bool allocates = true;
    template <class Ctx>
    MARK lw::symmetric_ptr<std::uint64_t> allocate(Ctx&, const text&, std::uint64_t) const {
        return lw::rejected<std::uint64_t>();
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const text&, lw::payload<const std::uint64_t>) const {}
};
struct do_nothing {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx&, Box&) const {}
};

struct application_of_flow {
    MARK_ARCS lw::arc_range arcs(std::uint32_t id) const { return {id, 1}; }
    template <class Ctx>
    MARK lw::proposal<std::uint32_t> visit(Ctx&, std::uint64_t arc, std::uint32_t key) const {
        return {arc, key};
    }
};

template <class Program>
auto kernel_of() {
    return &lw::cuda_backend::persistent_kernel<Program>;
}
template <class... Routes>
auto with_allocations(const Routes&...) -> decltype(lw::with_allocations(lw::routes<Routes...>{}));

void* use() {
    using all = lw::routes<lw::route<word, plain_handler>, lw::route<question, answering_handler>,
                           lw::route<text, handler_of_payload>>;
    using allocating = decltype(lw::with_allocations(lw::routes<lw::route<text, allocating_handler>>{}));
    (void)kernel_of<lw::program<functor, lw::mailbox_ref<all>>>();
    (void)kernel_of<lw::program<host_functor, lw::mailbox_ref<all>>>();
    (void)kernel_of<lw::program<do_nothing, lw::mailbox_ref<allocating>>>();
    return reinterpret_cast<void*>(
        kernel_of<lw::program<lw::no_body, lw::worklist_ref<std::uint32_t, application_of_flow>>>());
}
