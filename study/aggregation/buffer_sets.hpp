// Aggregation buffers in PE memory, for the schemes in which lanes of several blocks gather in the same buffers.
#pragma once

#include <algorithm>

#include "aggregation_agent.hpp"
#include "laneway/comm/aggregator.hpp"

namespace laneway::study {

/// One PE's sets of aggregation buffers, in its memory.
struct buffer_sets_view {
    std::byte* first = nullptr;
    std::size_t set_bytes = 0;
    int sets = 1;

    /// The aggregation buffers that a working block uses.
    [[nodiscard]] LANEWAY_FN std::byte* of_block(int worker_block) const { return of_set(worker_block % sets); }
    [[nodiscard]] LANEWAY_FN std::byte* of_set(int set) const {
        return first + static_cast<std::size_t>(set) * set_bytes;
    }

    /// Sends what all sets have aggregated and waits until it has left. The whole warp, together.
    template <class Ctx, class Message, class Idle>
    LANEWAY_FN status drain(Ctx& ctx, const links_ref& links, chunk_shape<Message> shape, Idle&& idle) const {
        for (int set = 0; set < sets; ++set) {
            aggregator<Ctx, Message, scope::device> bins(ctx, links, shape, 0, of_set(set));
            status left = bins.flush(ctx, full_warp<Ctx>, idle);
            if (left == status::ok) left = bins.await_left(ctx, full_warp<Ctx>, idle);
            if (left != status::ok) return left;
        }
        return status::ok;
    }
};

/// Host owner, all PEs.
template <class Message>
class buffer_sets {
public:
    buffer_sets(machine& machine, const study_options& options, chunk_shape<Message> shape,
                const std::vector<study_grid>& grids)
        : shape_(shape), n_pes_(machine.n_pes()), set_bytes_((shape.shared_bytes(n_pes_) + 127) / 128 * 128) {
        for (int pe = 0; pe < n_pes_; ++pe) {
            const int blocks = grids[static_cast<std::size_t>(pe)].worker_blocks();
            sets_.push_back(std::max(1, blocks / std::max(1, options.blocks_per_set)));
            memory_.emplace_back(machine.device(pe), static_cast<std::size_t>(sets_.back()) * set_bytes_);
        }
    }

    void reset() {
        const std::vector<aggregation_buffer> empty(static_cast<std::size_t>(n_pes_), shape_.empty_buffer());
        const auto* bytes = reinterpret_cast<const std::byte*>(empty.data());
        for (std::size_t pe = 0; pe < memory_.size(); ++pe) {
            for (int set = 0; set < sets_[pe]; ++set) {
                memory_[pe].copy_in(bytes, empty.size() * sizeof(aggregation_buffer),
                                    static_cast<std::size_t>(set) * set_bytes_);
            }
        }
    }
    [[nodiscard]] buffer_sets_view view_of(int pe, const comm_resources&) const {
        const auto p = static_cast<std::size_t>(pe);
        return {memory_[p].data(), set_bytes_, sets_[p]};
    }
    [[nodiscard]] std::size_t bytes(int pe) const { return memory_[static_cast<std::size_t>(pe)].size(); }

private:
    chunk_shape<Message> shape_;
    int n_pes_;
    std::size_t set_bytes_;
    std::vector<int> sets_;
    std::vector<buffer<std::byte>> memory_;
};

}  // namespace laneway::study
