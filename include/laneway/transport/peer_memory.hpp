// Memory through which the PEs of a machine reach each other, laid out by the host: as its transport model has it, one
// piece that one PE writes and another reads, or two between which a proxy carries.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/transport/proxy.hpp"

namespace laneway {

/// The views' memory of the ring from one PE to another; tickets are the owner's.
struct peer_ring {
    chunk_ring_layout to;    ///< as the source has it, but for `tail`
    chunk_ring_layout from;  ///< as the destination has it
};

/// Host only; not thread-safe.
class peer_memory {
public:
    /// What one PE writes and another reads: the same where it is mapped.
    struct part {
        std::byte* written = nullptr;
        std::byte* read = nullptr;
    };

    /// `carrier`: the machine's proxy, which several may share; null: all is mapped.
    peer_memory(machine& machine, std::shared_ptr<proxy> carrier) : machine_(machine), proxy_(std::move(carrier)) {}

    /// Zeroed words for one reader, a part for each other PE: null for the reader itself and where `bytes_from`, a
    /// multiple of 8, is 0. Each word has one writer and is carried by itself. All writers that reach the reader in the
    /// same way share one piece, one part behind the other: with pieces of their own, the rings of 256 PEs would be
    /// 260,000, each with a page for a few words.
    std::vector<part> add_words(int reader, const std::function<std::size_t(int writer)>& bytes_from);
    /// Rings between all PEs, [source][destination]; those into PE p have slots[p] slots, those of a PE to itself
    /// nothing. `look`: called before the rings of each PE; may throw.
    std::vector<peer_ring> add_rings(
        const std::vector<std::uint32_t>& slots, std::uint32_t slot_bytes, const std::function<void()>& look = [] {});
    /// Sets all words, flags and credits to 0. Between runs.
    void clear();

    /// What a PE has of it beside what it reads: staging of what it writes.
    [[nodiscard]] std::uint64_t staging_bytes(int pe) const;

private:
    struct piece {
        int user;
        std::shared_ptr<std::byte> memory;
        std::size_t bytes;
        bool staging;
    };
    std::vector<part> allocate(int reader, const std::function<std::size_t(int writer)>& bytes_from,
                               std::vector<piece>& pieces);
    std::vector<part> map(int reader, const std::function<std::size_t(int writer)>& bytes_from,
                          std::vector<piece>& pieces);
    std::vector<part> stage(int reader, const std::function<std::size_t(int writer)>& bytes_from,
                            std::vector<piece>& pieces);
    std::byte* place(int user, std::size_t bytes, bool staging, std::vector<piece>& pieces);
    /// Of all rings into a PE, by writer.
    struct ring_parts {
        std::vector<part> slots, words, flags;
    };
    void connect(peer_ring& ring, const ring_parts& into, int writer, int reader);
    void carry(proxy::direction direction, const part& words, int writer, int reader);

    machine& machine_;
    std::shared_ptr<proxy> proxy_;
    std::vector<piece> words_;          ///< words, flags and credits
    std::vector<piece> slots_;          ///< which need not be cleared
    std::vector<std::size_t> carried_;  ///< numbers of the proxy's directions
};

}  // namespace laneway
