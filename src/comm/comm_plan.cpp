#include "laneway/comm/comm_plan.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "laneway/base/error.hpp"
#include "laneway/comm/barrier.hpp"
#include "laneway/comm/forward_queue.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/simt/checked/context.hpp"

namespace laneway {

namespace {

// A CPU device keeps about this many chunks on their way, over all its rings.
constexpr std::uint32_t cpu_ring_slots = 512;
constexpr std::uint32_t slots_per_line = 2;  // one is served while the next arrives
constexpr std::uint32_t few_ring_slots = 16;
constexpr std::uint32_t min_ring_slots = 2;
constexpr std::uint64_t default_forward_slots = 262'144;
constexpr std::uint64_t min_forward_slots = 4096;

/// No memory is so large; what would be more counts as this, so that sums stay right.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 48;

std::uint64_t product(std::uint64_t count, std::uint64_t bytes) {
    return bytes != 0 && count > max_bytes / bytes ? max_bytes : count * bytes;
}

/// Chunks of a ring into a PE where nothing limits them. A power of two, as all rings have: tickets find their slot by
/// a mask.
std::uint32_t default_slots(const pe_grid& grid, std::size_t n_pes) {
    if (grid.kind != device_kind::cuda) {
        return std::bit_floor(std::clamp(cpu_ring_slots / static_cast<std::uint32_t>(n_pes), 4u, 64u));
    }
    const service_stripes lines(static_cast<int>(n_pes), grid.server_warps());
    return std::bit_floor(std::max(min_ring_slots, slots_per_line * static_cast<std::uint32_t>(lines.residues)));
}

/// The PE that takes most.
std::size_t greediest(const comm_plan& plan) {
    std::vector<std::uint64_t> bytes;
    for (std::size_t pe = 0; pe < plan.n_pes(); ++pe) bytes.push_back(plan.bytes(pe));
    return static_cast<std::size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

std::uint64_t greatest_bytes(const comm_plan& plan) { return plan.bytes(greediest(plan)); }

/// Gives rings as many slots as there is room for, from the default ones down to `least`; whether there is room.
bool fit_rings(comm_plan& plan, const options& options, std::uint32_t least) {
    const std::size_t n = plan.n_pes();
    for (std::uint32_t parts = 1;; parts *= 2) {
        bool shrinks = false;
        plan.ring_slots.clear();
        for (const auto& grid : plan.grids) {
            const std::uint32_t usual = default_slots(grid, n);
            const std::uint32_t fewer = std::max(usual / parts, std::min(usual, least));
            shrinks = shrinks || (options.ring_slots == 0 && fewer > least);
            plan.ring_slots.push_back(options.ring_slots != 0 ? std::bit_floor(options.ring_slots) : fewer);
        }
        if (greatest_bytes(plan) <= options.buffer_bytes) return true;
        if (!shrinks) return false;
    }
}

std::string set_by_hand(const options& options) {
    std::string list;
    const auto add = [&](const char* name, std::uint64_t value) {
        if (value != 0) list += (list.empty() ? " with " : ", ") + (name + (" = " + std::to_string(value)));
    };
    add("ring_slots", options.ring_slots);
    add("chunk_bytes", options.chunk_bytes);
    add("forward_slots", options.forward_slots);
    add("progress_samples", options.progress_samples);
    return list;
}

[[noreturn]] void refuse(const comm_plan& plan, const options& options, const std::vector<pe_outline>& pes) {
    const std::size_t pe = greediest(plan);
    std::string text = "buffer_bytes = " + std::to_string(options.buffer_bytes) + " is too little for " +
                       std::to_string(plan.n_pes()) + " PEs: buffers and rings of PE " + std::to_string(pe) + " (" +
                       pes[pe].name + ") take at least " + std::to_string(plan.bytes(pe)) + set_by_hand(options);
    if (plan.held_bytes[pe] != 0) {
        text +=
            "; " + std::to_string(plan.held_bytes[pe]) + " of them are of components, host calls and one-sided gets";
    }
    throw usage_error(text);
}

}  // namespace

int pe_grid::warp_lanes() const {
    return kind == device_kind::cuda ? 32 : one_lane() ? 1 : checked::context::warp_lanes;
}

int pe_grid::server_warps() const {
    return roles::count_servers(shape.blocks, shape.warps_per_block, servers(), one_lane());
}

int pe_grid::worker_warps() const {
    return roles::count_workers(shape.blocks, shape.warps_per_block, servers(), one_lane(), flushers);
}

std::vector<launch_shape> comm_plan::shapes() const {
    std::vector<launch_shape> all;
    for (const pe_grid& grid : grids) all.push_back(grid.shape);
    return all;
}

std::uint64_t comm_plan::worker_lanes() const {
    std::uint64_t lanes = 0;
    for (const pe_grid& grid : grids) lanes += grid.worker_lanes();
    return lanes;
}

std::uint64_t comm_plan::ring_bytes(std::size_t pe) const {
    return product(ring_slots[pe], needs.slot_bytes + (chunk_words + 1) * sizeof(std::uint64_t));
}

std::uint64_t comm_plan::credit_bytes(std::size_t pe) const { return ring_slots[pe] * sizeof(std::uint64_t); }

std::uint64_t comm_plan::answer_bytes(std::size_t pe) const {
    return grids[pe].worker_lanes() * needs.answer_words * sizeof(std::uint64_t);
}

std::uint64_t comm_plan::forward_bytes() const {
    return needs.forward_bytes == 0 ? 0 : product(forward_slots, forward_queue_ref::bytes_of_slot(needs.forward_bytes));
}

/// Rings of one class and their tables.
std::uint64_t comm_plan::ring_set_bytes(std::size_t pe) const {
    std::uint64_t bytes = (n_pes() - 1) * ring_bytes(pe);
    for (std::size_t to = 0; to < n_pes(); ++to) bytes += to == pe ? 0 : credit_bytes(to);
    const service_stripes lines(static_cast<int>(n_pes()), grids[pe].server_warps());
    bytes += n_pes() * (destructive_bytes + sizeof(chunk_sender) + sizeof(chunk_receiver) + sizeof(link_counters));
    return bytes + static_cast<std::uint64_t>(std::max(1, lines.count())) * sizeof(std::uint64_t);
}

std::uint64_t comm_plan::command_bytes() { return tagged_words<termination_command> * sizeof(std::uint64_t); }

std::uint64_t comm_plan::reply_bytes() { return tagged_words<fed_reply> * sizeof(std::uint64_t); }

std::uint64_t comm_plan::children(std::size_t pe) const {
    return static_cast<std::uint64_t>(termination_tree::children(static_cast<int>(pe), static_cast<int>(n_pes())));
}

std::uint64_t comm_plan::termination_bytes(std::size_t pe) const {
    const std::uint64_t all = sizeof(std::uint32_t) + children(pe) * (reply_bytes() + 2 * sizeof(std::uint64_t*));
    if (pe != 0) return all + command_bytes();
    return all + samples * sizeof(termination_sample) + sizeof(termination_outcome);
}

/// Of what the PE writes for others, where proxies carry it.
std::uint64_t comm_plan::staging_bytes(std::size_t pe) const {
    if (transport == transport_model::mapped) return 0;
    std::uint64_t rings = (n_pes() - 1) * credit_bytes(pe), answers = 0;
    for (std::size_t to = 0; to < n_pes(); ++to) {
        if (to == pe) continue;
        rings += ring_bytes(to);
        answers += needs.answer_words > 0 ? answer_bytes(to) : 0;
    }
    const std::uint64_t termination = children(pe) * command_bytes() + (pe != 0 ? reply_bytes() : 0);
    return rings * (needs.replies ? 2 : 1) + answers + termination + (n_pes() - 1) * barrier_ref::bytes;
}

std::uint64_t comm_plan::bytes(std::size_t pe) const {
    const launch_shape& shape = grids[pe].shape;
    std::uint64_t bytes =
        held_bytes[pe] + staging_bytes(pe) + static_cast<std::uint64_t>(shape.blocks) * shape.shared_bytes;
    bytes += ring_set_bytes(pe) * (needs.replies ? 2 : 1) + sizeof(work_counters) + termination_bytes(pe);
    bytes += (n_pes() - 1) * barrier_ref::bytes + n_pes() * 2 * sizeof(std::uint64_t*);
    if (needs.answer_words > 0) bytes += (n_pes() - 1) * answer_bytes(pe) + n_pes() * 2 * sizeof(std::uint64_t*);
    if (needs.forward_bytes > 0) bytes += forward_bytes() + 2 * destructive_bytes;
    return bytes;
}

comm_plan plan_comm(const options& options, const std::vector<pe_outline>& pes,
                    const std::vector<std::uint32_t>& chunk_sizes,
                    const std::function<comm_draft(std::uint32_t chunk_bytes)>& draft) {
    comm_plan plan;
    plan.samples = std::max(1u, options.progress_samples);
    plan.shut_pe = pe_with(options, injected_fault::shut_inbox);
    plan.transport = options.transport;
    for (const auto& pe : pes) plan.held_bytes.push_back(pe.held_bytes);
    plan.forward_slots = options.forward_slots != 0 ? options.forward_slots : default_forward_slots;
    const auto may_shrink = [&] {
        return options.forward_slots == 0 && plan.needs.forward_bytes > 0 && plan.forward_slots > min_forward_slots;
    };
    const auto fits = [&](std::uint32_t chunk_bytes, std::uint32_t min_slots) {
        const comm_draft drawn = draft(chunk_bytes);
        plan.chunk_bytes = chunk_bytes;
        plan.needs = drawn.needs;
        plan.grids = drawn.grids;
        while (may_shrink() && plan.forward_bytes() > options.buffer_bytes / 2) plan.forward_slots /= 2;
        return fit_rings(plan, options, min_slots);
    };
    for (const std::uint32_t chunk_bytes : chunk_sizes) {
        if (fits(chunk_bytes, few_ring_slots)) return plan;
    }
    std::optional<comm_plan> least;
    for (;; plan.forward_slots /= 2) {
        for (const std::uint32_t chunk_bytes : chunk_sizes) {
            if (fits(chunk_bytes, min_ring_slots)) return plan;
            if (!least || greatest_bytes(plan) < greatest_bytes(*least)) least = plan;
        }
        if (!may_shrink()) refuse(*least, options, pes);
    }
}

}  // namespace laneway
