// C++ exceptions as objects of laneway.errors.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

namespace laneway::python {

/// The Python exception that stands for `thrown`, whose message begins with `prefix`. Throws `thrown` itself where it
/// is none of the library's. With the interpreter's lock.
nanobind::object error_of(const std::exception_ptr& thrown, const std::string& prefix = "");

}  // namespace laneway::python
