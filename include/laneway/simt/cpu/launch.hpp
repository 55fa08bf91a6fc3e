// Launching on CPU devices in threads mode.
#pragma once

#include <memory>

#include "laneway/simt/pe_program.hpp"
#include "laneway/simt/running.hpp"

namespace laneway::cpu {

/// Starts a thread for each block of a PE; they run the program from start() on. Program, environment and the blocks'
/// shared memory are kept alive by the threads themselves, so that a run which never ends can be left behind.
std::unique_ptr<running> launch(const pe_environment& env, const launch_shape& shape, const pe_program& program);

}  // namespace laneway::cpu
