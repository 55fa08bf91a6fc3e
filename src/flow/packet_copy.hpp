// Copies between a packet's buffer and memory in any layout, by copy engine or by kernel.
#pragma once

#include <memory>
#include <vector>

#include "flow/copy_kernels.hpp"
#include "laneway/flow/copy_rule.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway::flow {

struct context_core;

/// What is copied: bytes of a message from `begin` on, in a buffer that holds them alone.
struct packet_copy {
    copy_ends ends;
    std::shared_ptr<const layout> where;  ///< null: side by side, from the memory's first byte on
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] copy_size size() const;
};

/// Gives it to the stream as one operation of calls of the copy engine.
void copy_by_engine(device_stream& stream, const packet_copy& what);
/// As kernels of the stream's device, whose lanes reach both memories. What is returned stays until they are done.
[[nodiscard]] std::vector<std::shared_ptr<void>> copy_by_kernel(context_core& context, int device,
                                                                device_stream& stream, const packet_copy& what);

}  // namespace laneway::flow
