// Compiled code beside which other Python threads go on.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace laneway::python {

/// As nanobind's gil_scoped_release, also in daemon threads as Python ends. Python then ends each thread that wants the
/// lock back, by unwinding it, which cannot pass this destructor and aborts the process; it ends in its place here.
class released_gil {
public:
    released_gil() : state_(PyEval_SaveThread()) {}
    ~released_gil() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {  // glibc's unwinding; to leave this block would abort as well
            for (;;) pause();
        }
    }
    released_gil(const released_gil&) = delete;
    released_gil& operator=(const released_gil&) = delete;

private:
    PyThreadState* state_;
};

}  // namespace laneway::python
