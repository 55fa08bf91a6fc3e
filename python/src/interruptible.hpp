// Compiled calls that signals can leave.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "laneway/base/interruption.hpp"
#include "released_gil.hpp"

namespace laneway::python {

/// Guard of a compiled call that may take long. Other Python threads go on meanwhile; on the main thread Python's
/// signal handlers run where the call can be left, and what they raise leaves it: Ctrl-C is a KeyboardInterrupt within
/// a moment, and nothing of the call goes on behind it. Made and destroyed with the interpreter's lock.
class interruptible {
public:
    interruptible() {
        const bool leaves = is_on_main_thread();  // handlers run only there
        released_.emplace();
        if (leaves) leave_.emplace(&run_signal_handlers);
    }

private:
    /// A function of its own: what it holds of Python goes while the interpreter's lock is held.
    static bool is_on_main_thread() {
        const auto threading = nanobind::module_::import_("threading");
        return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
    }
    static void run_signal_handlers() {
        const nanobind::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }

    std::optional<released_gil> released_;
    std::optional<interruption> leave_;
};

}  // namespace laneway::python
