// What is told of a run: to a timeline, and to the other processes of a job.
#pragma once

#include <string>

namespace laneway {

struct run_label {
    const char* name = "run";
    bool goes_on = false;  ///< see run_record
    /// What its components are given, beside sizes of memory: the same in all processes of a job.
    std::string given{};
};

}  // namespace laneway
