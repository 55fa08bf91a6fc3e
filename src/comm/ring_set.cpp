#include "laneway/comm/ring_set.hpp"

#include <algorithm>
#include <utility>

#include "laneway/comm/server.hpp"

namespace laneway {

ring_set::ring_set(machine& machine, const options& options, const comm_plan& plan, std::shared_ptr<proxy> carrier,
                   const run_deadline& until)
    : machine_(machine), options_(options), n_(plan.n_pes()), memory_(machine, std::move(carrier)) {
    for (const auto& grid : plan.grids) server_warps_.push_back(grid.server_warps());
    make_rings(plan, until);
    make_tables(until);
}

void ring_set::make_rings(const comm_plan& plan, const run_deadline& until) {
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        tails_.emplace_back(machine_.device(pe), n_ * (destructive_bytes / sizeof(std::uint64_t)));
    }
    rings_ = memory_.add_rings(plan.ring_slots, plan.needs.slot_bytes, [&] { (void)until.left(); });
    for (std::size_t source = 0; source < n_; ++source) {
        for (std::size_t to = 0; to < n_; ++to) {
            rings_[source * n_ + to].to.tail = tails_[source].data() + to * destructive_bytes / 8;
        }
    }
}

void ring_set::make_tables(const run_deadline& until) {
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        (void)until.left();
        const auto& device = machine_.device(pe);
        std::vector<chunk_sender> to(n_);
        std::vector<chunk_receiver> from(n_);
        for (int other = 0; other < machine_.n_pes(); ++other) {
            to[static_cast<std::size_t>(other)] = chunk_sender(rings_[pair(pe, other)].to);
            from[static_cast<std::size_t>(other)] = chunk_receiver(rings_[pair(other, pe)].from);
        }
        to_.emplace_back(device, n_).copy_in(to);
        from_.emplace_back(device, n_).copy_in(from);
        sent_.emplace_back(device, n_);
        const service_stripes lines(machine_.n_pes(), server_warps_[static_cast<std::size_t>(pe)]);
        stripe_next_.emplace_back(device, static_cast<std::size_t>(std::max(1, lines.count())));
        set_stripes(static_cast<std::size_t>(pe));
    }
}

void ring_set::set_stripes(std::size_t pe) {
    const service_stripes lines(machine_.n_pes(), server_warps_[pe]);
    std::vector<std::uint64_t> next(stripe_next_[pe].size());
    for (int line = 0; line < lines.count(); ++line) {
        next[static_cast<std::size_t>(line)] = static_cast<std::uint64_t>(lines.residue(line));
    }
    stripe_next_[pe].copy_in(next);
}

void ring_set::clear() {
    for (std::size_t p = 0; p < n_; ++p) {
        tails_[p].fill_bytes(0);
        sent_[p].fill_bytes(0);
        set_stripes(p);
    }
    memory_.clear();
}

links_ref ring_set::links(int pe) const {
    const auto p = static_cast<std::size_t>(pe);
    links_ref ref;
    ref.to = to_[p].data();
    ref.from = from_[p].data();
    ref.sent = sent_[p].data();
    ref.stripe_next = stripe_next_[p].data();
    ref.server_warps = server_warps_[p];
    ref.age_ns = options_.age_ns;
    ref.deaf = pe == pe_with(options_, injected_fault::deaf_server);
    ref.keeps_credits = pe == pe_with(options_, injected_fault::stuck_credit);
    ref.keeps_forwards = pe == pe_with(options_, injected_fault::stuck_forward);
    return ref;
}

std::vector<traffic> ring_set::traffic_matrix() const {
    if (sent_.size() == 1) return {traffic{}};  // a lone PE has no rings: no copy from a GPU need be waited for
    std::vector<traffic> matrix;
    for (const auto& row : sent_) {
        for (const auto& to : row.copy_out()) matrix.push_back({to.messages, to.chunks, to.bytes});
    }
    return matrix;
}

std::string ring_set::fills(const std::string& name) const {
    std::string text;
    for (int s = 0; s < machine_.n_pes(); ++s) {
        const auto tails = tails_[static_cast<std::size_t>(s)].copy_out();
        for (int d = 0; d < machine_.n_pes(); ++d) {
            if (s == d) continue;
            const chunk_ring_layout& ring = rings_[pair(s, d)].to;
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

ring_set::~ring_set() = default;

}  // namespace laneway
