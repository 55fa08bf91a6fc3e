// The task type `call_body`: calls a function of the host, for bodies that are compiled while the program runs. CPU
// devices only.
#pragma once

#include "laneway/base/error.hpp"
#include "laneway/simt/user_code.hpp"
#include "operands.hpp"

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

struct call_body {
    /// `setting` is the address of a body_function.
    using arguments = const task_operands*;
    using result = void;

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, const arguments& operands, Worker& worker) const {
        if (worker.lane() != 0) return;
        if constexpr (catching<Ctx>) {
            call(*operands, worker.index());
        } else {
            worker.fail(no_such_function);  // whoever submits refuses it before
        }
    }

private:
    static constexpr std::uint32_t no_such_function = 1;

    static void call(const task_operands& operands, std::uint32_t index) {
        char text[1024];
        const auto function = reinterpret_cast<body_function>(operands.setting);
        const int threw =
            function(operands.input<std::byte>(index), operands.output<std::byte>(index), text, sizeof text);
        if (threw != 0) throw body_error(text);
    }
};

}  // namespace laneway::apps
