#include "laneway/comm/collective/collectives_memory.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"
#include "laneway/comm/collective/collective_state.hpp"

namespace laneway {

namespace {

/// What a step costs beside the bytes it sends, and what one block and a whole grid of an H200 send in a µs: see
/// docs/design/0031-collectives.md.
constexpr double step_us = 1.3, block_bytes_a_us = 37'000, grid_bytes_a_us = 350'000;

/// Arrays of more bytes go quicker in two steps: a PE sends 2 B (n - 1) bytes of words in one step and 4 B (n - 1) / n
/// in two, and waits a step longer.
std::uint64_t break_even(std::size_t n_pes, double bytes_a_us) {
    if (n_pes < 3) return ~std::uint64_t{0};
    const auto n = static_cast<double>(n_pes);
    return static_cast<std::uint64_t>(step_us * bytes_a_us * n / (2 * (n - 1) * (n - 2)));
}

std::uint32_t data_words_of(std::uint64_t bytes, const char* name) {
    constexpr std::uint64_t least = 16, most = 1 << 30;
    if (bytes < least || bytes > most || !std::has_single_bit(bytes)) {
        throw usage_error(std::string("collectives: ") + name + ": a power of two between " + std::to_string(least) +
                          " and " + std::to_string(most) + ", not " + std::to_string(bytes));
    }
    return static_cast<std::uint32_t>(bytes / sizeof(std::uint32_t));
}

/// Groups of a kind that have two members at least in some team.
std::uint32_t shared_groups(const collectives_plan& plan, group kind) {
    std::uint32_t shared = 0;
    for (std::size_t a = 0; a < plan.n_pes(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            if (!plan.same_team(a, b)) continue;
            shared = std::max(shared, std::min(plan.most[a].groups(kind), plan.most[b].groups(kind)));
        }
    }
    return shared;
}

}  // namespace

collectives_plan::collectives_plan(const collective_options& o, const std::vector<working_counts>& counts)
    : options(o), most(counts) {
    constexpr std::uint32_t max_warps = (1u << 16) - 1;  // see grid_words
    constexpr std::uint64_t in_block = collective_state::max_warps;
    for (const auto& pe : most) {
        const bool fits = pe.warps <= max_warps && pe.warps <= in_block * pe.blocks;
        if (fits && pe.blocks >= 1 && pe.blocks <= pe.warps) continue;
        throw usage_error("collectives: a PE with " + std::to_string(pe.warps) + " working warps in " +
                          std::to_string(pe.blocks) + " blocks; there may be 1 to " + std::to_string(max_warps) +
                          ", and up to " + std::to_string(in_block) + " in a block");
    }
    if (!o.teams.empty() && o.teams.size() != n_pes()) {
        throw usage_error("collectives: a team for each of " + std::to_string(n_pes()) + " PEs, or none; " +
                          std::to_string(o.teams.size()) + " are given");
    }
    const std::uint32_t data_words[] = {data_words_of(o.warp_bytes, "warp_bytes"),
                                        data_words_of(o.block_bytes, "block_bytes"),
                                        data_words_of(o.grid_bytes, "grid_bytes")};
    const std::uint64_t two_shot[] = {~std::uint64_t{0}, o.block_two_shot_bytes, o.grid_two_shot_bytes};
    const double bytes_a_us[] = {0, block_bytes_a_us, grid_bytes_a_us};
    std::uint64_t first = 0;
    for (const group kind : {group::warp, group::block, group::grid}) {
        const auto k = static_cast<std::size_t>(kind);
        const std::uint64_t limit = two_shot[k] != 0 ? two_shot[k] : break_even(n_pes(), bytes_a_us[k]);
        words[k] = {first, shared_groups(*this, kind), data_words[k], limit};
        first += words[k].all_words();
    }
}

std::uint64_t collectives_plan::pair_words() const {
    std::uint64_t sum = 0;
    for (const auto& kind : words) sum += kind.all_words();
    return sum;
}

std::uint64_t collectives_plan::round_words(std::size_t pe) const { return most[pe].warps + most[pe].blocks + 2; }

std::uint64_t collectives_plan::value_words(std::size_t pe) const {
    return most[pe].blocks * std::uint64_t{tagged_words<std::uint64_t>};
}

std::uint64_t collectives_plan::bytes(std::size_t pe) const {
    const std::uint64_t tables = n_pes() * (2 * sizeof(std::uint64_t*) + sizeof(working_counts));
    std::uint64_t peers = 0;
    for (std::size_t other = 0; other < n_pes(); ++other) peers += other != pe && same_team(other, pe) ? 1 : 0;
    return sizeof(std::uint64_t) * (peers * pair_words() + round_words(pe) + value_words(pe)) + tables +
           sizeof(grid_words);
}

collectives_memory::collectives_memory(machine& machine, const collectives_plan& plan, int mute)
    : machine_(machine), plan_(plan), memory_(machine, proxy::of(machine)) {
    if (plan.n_pes() != static_cast<std::size_t>(machine.n_pes())) {
        throw usage_error("collectives: planned for " + std::to_string(plan.n_pes()) + " PEs, the machine has " +
                          std::to_string(machine.n_pes()));
    }
    place_words(machine, mute);
    for (std::size_t p = 0; p < plan.n_pes(); ++p) {
        const auto& device = machine.device(static_cast<int>(p));
        counts_.emplace_back(device, plan.n_pes());
        rounds_.emplace_back(device, plan.round_words(p));
        values_.emplace_back(device, plan.value_words(p));
        grids_.emplace_back(device, 1);
    }
}

void collectives_memory::place_words(machine& machine, int mute) {
    const std::size_t n = plan_.n_pes();
    std::vector<std::vector<word_sender>> written(n, std::vector<word_sender>(n));
    for (std::size_t reader = 0; reader < n; ++reader) {
        const auto parts = memory_.add_words(static_cast<int>(reader), [&](int writer) -> std::size_t {
            if (!plan_.same_team(static_cast<std::size_t>(writer), reader)) return 0;
            return plan_.pair_words() * sizeof(std::uint64_t);
        });
        std::vector<word_receiver> read(n);
        for (std::size_t writer = 0; writer < n; ++writer) {
            written[writer][reader] = word_sender(parts[writer].written);
            read[writer] = word_receiver(parts[writer].read);
        }
        from_.emplace_back(machine.device(static_cast<int>(reader)), n).copy_in(read);
    }
    if (mute >= 0) {
        unheard_ = buffer<std::uint64_t>(machine.device(mute), plan_.pair_words());
        std::fill_n(written[static_cast<std::size_t>(mute)].begin(), n, word_sender(unheard_.data()));
    }
    for (std::size_t writer = 0; writer < n; ++writer) {
        to_.emplace_back(machine.device(static_cast<int>(writer)), n).copy_in(written[writer]);
    }
}

void collectives_memory::begin(const std::vector<working_counts>& counts) {
    for (std::size_t p = 0; p < plan_.n_pes(); ++p) {
        const auto &pe = counts.at(p), &most = plan_.most[p];
        if (pe.warps <= most.warps && pe.blocks <= most.blocks) continue;
        throw usage_error("collectives: PE " + std::to_string(p) + " has " + std::to_string(pe.warps) +
                          " working warps in " + std::to_string(pe.blocks) + " blocks, planned for " +
                          std::to_string(most.warps) + " in " + std::to_string(most.blocks));
    }
    bool alike = true;
    for (std::size_t p = 0; p < plan_.n_pes(); ++p) {
        alike = alike && counts[p] == counts[0] && plan_.same_team(p, 0);
    }
    // Where PEs differ, a group that gets other members has some that have missed its rounds.
    if (open_ || (counts != now_ && !(alike && alike_))) reset();
    open_ = true;
    alike_ = alike;
    now_ = counts;
    if (alike) return;
    for (std::size_t p = 0; p < plan_.n_pes(); ++p) {
        std::vector<working_counts> of_team = counts;
        for (std::size_t other = 0; other < plan_.n_pes(); ++other) {
            if (!plan_.same_team(other, p)) of_team[other] = {0, 0};
        }
        counts_[p].copy_in(of_team);
    }
}

void collectives_memory::reset() {
    memory_.clear();
    for (std::size_t p = 0; p < plan_.n_pes(); ++p) {
        rounds_[p].fill_bytes(0);
        values_[p].fill_bytes(0);
        grids_[p].fill_bytes(0);
    }
}

collectives_ref collectives_memory::ref(int pe) const {
    const auto p = static_cast<std::size_t>(pe);
    collectives_ref ref;
    ref.to = to_[p].data();
    ref.from = from_[p].data();
    ref.counts = alike_ ? nullptr : counts_[p].data();
    ref.mine = now_[p];
    std::copy(std::begin(plan_.words), std::end(plan_.words), std::begin(ref.words));
    ref.max_bytes = plan_.options.max_bytes;
    ref.rounds = rounds_[p].data();
    ref.values = values_[p].data();
    ref.grid = grids_[p].data();
    ref.max_warps = plan_.most[p].warps;
    ref.max_blocks = plan_.most[p].blocks;
    return ref;
}

}  // namespace laneway
