// The program of a pool of tasks as text that bodies can be linked to.
#pragma once

#include <string_view>

namespace laneway::apps {

/// The kernel that task_service has on GPUs, once more as PTX, for their oldest architecture that the build is for. Its
/// calls of bodies are open: `laneway_call_linked` of call_body.hpp. Empty in a build without CUDA.
[[nodiscard]] std::string_view linkable_pool();

}  // namespace laneway::apps
