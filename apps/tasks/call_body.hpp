// The task type `call_body`: calls a function that is compiled while the program runs. On CPU devices it is the host's;
// on GPUs it is linked into the pool's program, which linkable_pool.hpp has for that.
#pragma once

#include "laneway/base/error.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/task_type.hpp"
#include "operands.hpp"

#if defined(LANEWAY_LINKS_BODIES)
/// Defined by what is linked to the program: the body of this number.
extern "C" __device__ void laneway_call_linked(std::uint32_t body, const void* arguments, void* result);
#endif

namespace laneway::apps {

/// Reads its arguments, and stores its result, where these are. 0, or 1 where it threw: then it has stored what that
/// said, with a null character at its end, in the `text_bytes` bytes of `text`.
using body_function = int (*)(const void* arguments, void* result, char* text, std::size_t text_bytes);

/// A body threw; the message is what it threw.
class body_error : public error {
public:
    explicit body_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// `Where`: the kinds of devices whose body it is. `setting` is the address of a body_function.
template <task_devices Where>
struct call_body {
    static constexpr auto runs_on = Where;
    using arguments = const task_operands*;
    using result = void;
    static constexpr task_width width = task_width::lane;

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, const arguments& operands, Worker& worker) const {
        const std::byte* const inputs = operands->template input<std::byte>(worker.index());
        std::byte* const output = operands->template output<std::byte>(worker.index());
        if constexpr (catching<Ctx>) {
            call(*operands, inputs, output);
        } else {
#if defined(LANEWAY_LINKS_BODIES)
            laneway_call_linked(operands->linked_body, inputs, output);
#else
            (void)inputs, (void)output;
            worker.fail(no_such_function);  // the program with bodies takes over before the first is submitted
#endif
        }
    }

private:
    static constexpr std::uint32_t no_such_function = 1;

    static void call(const task_operands& operands, const std::byte* inputs, std::byte* output) {
        char text[1024];
        const auto function = reinterpret_cast<body_function>(operands.setting);
        if (function(inputs, output, text, sizeof text) != 0) throw body_error(text);
    }
};

}  // namespace laneway::apps
