// How a timeline calls a run.
#pragma once

namespace laneway {

struct run_label {
    const char* name = "run";
    bool goes_on = false;  ///< see run_record
};

}  // namespace laneway
