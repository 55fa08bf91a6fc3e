// Host-side exceptions. Every error the library throws derives from `error` and carries its place.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include "laneway/base/one_line.hpp"

namespace laneway {

/// Base of all exceptions of the library. `what()` is one line, whatever others wrote into it; `where()` names the
/// throwing place, for logs and bug reports.
class error : public std::runtime_error {
public:
    explicit error(const std::string& what, std::source_location where = std::source_location::current())
        : std::runtime_error(one_line(what, ' ')), where_(where) {}

    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

private:
    std::source_location where_;
};

// The constructors are written out because nvcc 13.0 fails on inherited ones with a source_location default.

/// Wrong use or wrong input: a bad argument, an unknown device, a broken file. Command line: exit code 2.
class usage_error : public error {
public:
    explicit usage_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// The operating system refused something: a file, a thread, memory.
class system_error : public error {
public:
    explicit system_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// A CUDA call failed.
class cuda_error : public error {
public:
    explicit cuda_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// A wait passed its deadline; the message names PE, block, operation and what was waited for.
class timeout_error : public error {
public:
    explicit timeout_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// Device code reported a fault through the fault record.
class device_fault : public error {
public:
    explicit device_fault(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// Of those, that more items wait in an item worklist than its queues have room for.
class full_worklist : public device_fault {
public:
    explicit full_worklist(const std::string& what, std::source_location where = std::source_location::current())
        : device_fault(what, where) {}
};

/// A function of the host that lanes called threw; the message names it. What it threw is nested in this.
class host_call_error : public error {
public:
    explicit host_call_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// A functor or handler threw on a CPU device; the message names the lane and what it ran. What it threw is nested in
/// this: `std::rethrow_if_nested(e)` throws it again, with its own type.
class lane_error : public error {
public:
    explicit lane_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// Another process of the job has ended, has left what all do together, or does something else; the message names it.
class process_error : public error {
public:
    explicit process_error(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// A call was left before it was done, because its caller asked for that: see interruption.hpp.
class interrupted : public error {
public:
    explicit interrupted(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

}  // namespace laneway

namespace lw = laneway;
