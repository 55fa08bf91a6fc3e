#include "laneway/comm/ring_mesh.hpp"

#include <algorithm>

#include "laneway/comm/server.hpp"
#include "laneway/transport/transport.hpp"

namespace laneway {

ring_mesh::ring_mesh(machine& machine, const options& options, const office_plan& plan)
    : machine_(machine), options_(options), n_(plan.n_pes()) {
    for (const auto& grid : plan.grids) server_warps_.push_back(grid.server_warps());
    make_rings(plan);
    make_tables();
}

void ring_mesh::make_rings(const office_plan& plan) {
    rings_.resize(n_ * n_);
    for (int s = 0; s < machine_.n_pes(); ++s) {
        const auto& source = machine_.device(s);
        tails_.emplace_back(source, n_ * (destructive_bytes / sizeof(std::uint64_t)));
        for (int d = 0; d < machine_.n_pes(); ++d) {
            if (s == d) continue;
            const auto& destination = machine_.device(d);
            const auto to = static_cast<std::size_t>(d);
            const std::uint32_t slots = plan.ring_slots[to];
            const std::uint32_t slot_bytes = plan.needs.slot_bytes;
            ring_memory ring;
            const std::size_t payload = static_cast<std::size_t>(slots) * slot_bytes;
            const std::size_t words = slots * chunk_words;
            ring.slots_and_flags =
                find_transport(*source, *destination).place(source, destination, plan.ring_bytes(to));
            ring.credits = find_transport(*destination, *source).place(destination, source, plan.credit_bytes(to));
            ring.layout.slots = ring.slots_and_flags.get();
            ring.layout.words = reinterpret_cast<std::uint64_t*>(ring.slots_and_flags.get() + payload);
            ring.layout.flags = ring.layout.words + words;
            ring.layout.credits = reinterpret_cast<std::uint64_t*>(ring.credits.get());
            ring.layout.tail = tails_.back().data() + to * destructive_bytes / 8;
            ring.layout.n_slots = slots;
            ring.layout.slot_bytes = slot_bytes;
            rings_[pair(s, d)] = ring;
        }
    }
}

void ring_mesh::make_tables() {
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto& device = machine_.device(pe);
        std::vector<chunk_sender> to(n_);
        std::vector<chunk_receiver> from(n_);
        for (int other = 0; other < machine_.n_pes(); ++other) {
            static_cast<chunk_ring_layout&>(to[static_cast<std::size_t>(other)]) = rings_[pair(pe, other)].layout;
            static_cast<chunk_ring_layout&>(from[static_cast<std::size_t>(other)]) = rings_[pair(other, pe)].layout;
        }
        to_.emplace_back(device, n_).copy_in(to);
        from_.emplace_back(device, n_).copy_in(from);
        sent_.emplace_back(device, n_);
        const service_lines lines(machine_.n_pes(), server_warps_[static_cast<std::size_t>(pe)]);
        line_next_.emplace_back(device, static_cast<std::size_t>(std::max(1, lines.count())));
    }
}

void ring_mesh::reset() {
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto p = static_cast<std::size_t>(pe);
        tails_[p].fill_bytes(0);
        sent_[p].fill_bytes(0);
        const service_lines lines(machine_.n_pes(), server_warps_[p]);
        std::vector<std::uint64_t> next(line_next_[p].size());
        for (int line = 0; line < lines.count(); ++line) {
            next[static_cast<std::size_t>(line)] = static_cast<std::uint64_t>(lines.residue(line));
        }
        line_next_[p].copy_in(next);
        for (int other = 0; other < machine_.n_pes(); ++other) {
            if (other == pe) continue;
            // Host memory or device memory: the PE that reads it can write it as well.
            const chunk_ring_layout& in = rings_[pair(other, pe)].layout;
            const chunk_ring_layout& out = rings_[pair(pe, other)].layout;
            machine_.device(pe)->fill(in.words, 0, (chunk_words + 1) * in.n_slots * sizeof(std::uint64_t));
            machine_.device(pe)->fill(out.credits, 0, out.n_slots * sizeof(std::uint64_t));
        }
    }
}

links_ref ring_mesh::links(int pe) const {
    const auto p = static_cast<std::size_t>(pe);
    links_ref ref;
    ref.to = to_[p].data();
    ref.from = from_[p].data();
    ref.sent = sent_[p].data();
    ref.line_next = line_next_[p].data();
    ref.server_warps = server_warps_[p];
    ref.age_ns = options_.age_ns;
    ref.deaf = options_.fault == injected_fault::deaf_server && options_.fault_pe == pe;
    ref.keeps_credits = options_.fault == injected_fault::stuck_credit && options_.fault_pe == pe;
    return ref;
}

std::vector<traffic> ring_mesh::traffic_matrix() const {
    std::vector<traffic> matrix;
    for (const auto& row : sent_) {
        for (const auto& to : row.copy_out()) matrix.push_back({to.messages, to.chunks, to.bytes});
    }
    return matrix;
}

std::string ring_mesh::fills(const std::string& name) const {
    std::string text;
    for (int s = 0; s < machine_.n_pes(); ++s) {
        const auto tails = tails_[static_cast<std::size_t>(s)].copy_out();
        for (int d = 0; d < machine_.n_pes(); ++d) {
            if (s == d) continue;
            const chunk_ring_layout& ring = rings_[pair(s, d)].layout;
            std::vector<std::uint64_t> credits(ring.n_slots);
            machine_.device(s)->copy_out(credits.data(), ring.credits, ring.n_slots * sizeof(std::uint64_t));
            const std::uint64_t tail = tails[static_cast<std::size_t>(d) * destructive_bytes / 8];
            std::uint64_t used = 0;
            for (std::uint64_t t = tail < ring.n_slots ? 0 : tail - ring.n_slots; t < tail; ++t) {
                used += credits[t % ring.n_slots] <= t ? 1 : 0;
            }
            if (used == 0) continue;
            text += "; " + name + " " + std::to_string(s) + "->" + std::to_string(d) + ": " + std::to_string(used) +
                    " of " + std::to_string(ring.n_slots) + " slots in use";
        }
    }
    return text;
}

}  // namespace laneway
