// The host's thread that keeps items for which the queues of PEs have no room.
#pragma once

#include <deque>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/flow/item_overflow_ref.hpp"
#include "laneway/flow/item_queues_memory.hpp"
#include "laneway/queue/work_group_queue_memory.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// Serves the PEs of this process. What it keeps is given back last in, first out, which takes the least memory: of a
/// tree of items the deepest are done first. In waves what comes is kept for the next one.
template <class Entry>
class item_overflow final : public host_service {
public:
    /// Allocates; between runs.
    explicit item_overflow(const machine& machine) {
        for (int pe = 0; pe < machine.n_pes(); ++pe) parts_.emplace_back(machine.device(pe), machine.is_own(pe));
    }

    [[nodiscard]] item_overflow_view view(int pe) const {
        const part& one = parts_[static_cast<std::size_t>(pe)];
        return {one.queue.layout(), one.given.get()};
    }
    /// Before the first run, and behind one that did not end well.
    void clear(int pe) { parts_[static_cast<std::size_t>(pe)].clear(); }
    /// Before a run, which in a wave takes what the one before has left.
    void begin(int pe, bool in_waves) {
        part& one = parts_[static_cast<std::size_t>(pe)];
        one.in_waves = in_waves;
        if (in_waves) std::swap(one.kept, one.for_later);
    }

    [[nodiscard]] int threads() const override { return 1; }
    void open() override {}
    /// Most runs, and above all waves, end without: they need no thread.
    [[nodiscard]] bool is_due(host_context& ctx, int) const override {
        for (const part& one : parts_) {
            if (one.is_own && !one.receiver.peek(ctx).empty()) return true;
        }
        return false;
    }
    bool turn(host_context& ctx, int) override {
        bool any = false;
        for (part& one : parts_) {
            if (!one.is_own) continue;
            const auto batch = one.receiver.peek(ctx);
            if (batch.empty()) continue;
            serve(one, batch);
            one.receiver.release(ctx);
            any = true;
        }
        return any;
    }
    /// The list tells of what waits, and counts what it has put and taken.
    [[nodiscard]] std::string account() const override { return {}; }
    void audit() const override {}

private:
    using message = overflow_message<Entry>;

    struct part {
        part(const std::shared_ptr<device>& owner, bool own)
            : is_own(own), queue(owner, shape_for(owner->id().kind)),
              given(allocate_host_visible(owner, max_given * sizeof(Entry))), receiver(queue.receiver(0)) {}

        void clear() {
            kept.clear();
            for_later.clear();
            queue.reset();
            receiver = queue.receiver(0);
        }

        bool is_own;
        work_group_queue<message> queue;
        std::shared_ptr<std::byte> given;
        work_group_receiver<message> receiver;
        std::deque<Entry> kept;
        std::deque<Entry> for_later;  ///< of the next wave
        bool in_waves = false;
    };

    /// Lanes wait while so many groups of them have told something that was not yet heard.
    static work_group_queue_shape shape_for(device_kind kind) {
        const std::uint32_t lanes = kind == device_kind::cuda  ? 32
                                    : kind == device_kind::cpu ? 1
                                                               : checked::context::warp_lanes;
        return {1, kind == device_kind::cpu ? 256u : 32u, lanes};
    }

    static void serve(part& one, const message_columns<message>& batch) {
        for (std::uint32_t c = 0; c < batch.size(); ++c) {
            const message told = batch[c];
            if (told.wanted != 0) {
                give(one, told.wanted);
            } else {
                keep(one.in_waves ? one.for_later : one.kept, told.entry);
            }
        }
    }
    static void keep(std::deque<Entry>& kept, const Entry& entry) {
        try {
            kept.push_back(entry);
        } catch (const std::bad_alloc&) {
            throw full_worklist("the host has no memory for more than " + std::to_string(kept.size()) +
                                " work items, see item_worklist_options.items and .overflow_items");
        }
    }
    static void give(part& one, std::uint32_t wanted) {
        if (wanted > one.kept.size()) {
            throw device_fault("audit mismatch; items beyond the reserve: lanes ask for " + std::to_string(wanted) +
                               " of " + std::to_string(one.kept.size()));
        }
        for (std::uint32_t i = 0; i < wanted; ++i) {
            reinterpret_cast<Entry*>(one.given.get())[i] = one.kept.back();
            one.kept.pop_back();
        }
    }

    std::vector<part> parts_;
};

}  // namespace laneway
