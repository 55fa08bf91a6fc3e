// What the processes of a job tell each other when a run has ended.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "laneway/base/fault.hpp"

namespace laneway {

struct run_end {
    std::vector<fault_record> records;  ///< of the process's PEs
    std::string thrown;                 ///< what a lane threw, for people; empty: nothing
    std::string left;                   ///< why the process has left the run; empty: it has not
    bool abandoned = false;             ///< whether a kernel was left behind, which may go on writing any PE's memory

    [[nodiscard]] std::string to_bytes() const;
    /// What to_bytes of a process with so many PEs has given; throws process_error for what cannot be.
    static run_end from_bytes(const std::string& bytes, std::size_t pes);
};

/// What an exception says; empty for none.
std::string reason_of(const std::exception_ptr& thrown);

}  // namespace laneway
