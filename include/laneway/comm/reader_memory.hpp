// Memory that other PEs write and one reads, laid out by the host.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "laneway/simt/machine.hpp"

namespace laneway {

/// One piece of it: the parts of all writers that reach the reader in the same way.
struct reader_memory {
    int reader;
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
};

/// Allocates memory for one reader, a part for each other PE, and adds its pieces to `pieces`. Returns the parts, null
/// for the reader itself and where `bytes_from` is 0. All writers that reach the reader in the same way
/// share one piece, one part behind the other: with pieces of their own, the rings of 256 PEs would be 260,000, each
/// with a page for a few words.
std::vector<std::byte*> allocate_for_reader(machine& machine, int reader,
                                            const std::function<std::size_t(int writer)>& bytes_from,
                                            std::vector<reader_memory>& pieces);

}  // namespace laneway
