#include "laneway/comm/post_office.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/transport/transport.hpp"

namespace laneway {

namespace {

// A CPU device keeps about this many chunks on their way, over all its rings.
constexpr std::uint32_t cpu_ring_slots = 512;
constexpr std::uint32_t slots_per_line = 2;  // one is served while the next arrives

// Regions that a transport placed are host memory or device memory; the PE that reads them can write them as well.
void clear(device& owner, std::byte* memory, std::size_t bytes) { owner.fill(memory, 0, bytes); }

}  // namespace

int pe_grid::server_warps() const {
    return roles::count_servers(shape.blocks, shape.warps_per_block, server_blocks, one_lane);
}

int pe_grid::worker_warps() const {
    return roles::count_workers(shape.blocks, shape.warps_per_block, server_blocks, one_lane, flushers);
}

std::uint64_t pe_grid::worker_lanes(const device& device) const {
    const int lanes = device.is_gpu() ? 32 : one_lane ? 1 : checked::context::warp_lanes;
    return static_cast<std::uint64_t>(worker_warps()) * static_cast<std::uint64_t>(lanes);
}

post_office::post_office(machine& machine, const options& options, std::uint32_t slot_bytes,
                         const std::vector<pe_grid>& grids)
    : machine_(machine), options_(options), grids_(grids), n_(static_cast<std::size_t>(machine.n_pes())) {
    make_rings(slot_bytes);
    make_tables();
    make_waves();
}

void post_office::make_rings(std::uint32_t slot_bytes) {
    rings_.resize(n_ * n_);
    for (int s = 0; s < machine_.n_pes(); ++s) {
        const auto& source = machine_.device(s);
        tails_.emplace_back(source, n_ * (destructive_bytes / sizeof(std::uint64_t)));
        for (int d = 0; d < machine_.n_pes(); ++d) {
            if (s == d) continue;
            const auto& destination = machine_.device(d);
            const service_lines lines(machine_.n_pes(), grids_[static_cast<std::size_t>(d)].server_warps());
            std::uint32_t slots = options_.ring_slots;
            if (slots == 0) {
                slots = destination->is_gpu() ? slots_per_line * static_cast<std::uint32_t>(lines.residues)
                                              : std::clamp(cpu_ring_slots / static_cast<std::uint32_t>(n_), 4u, 64u);
            }
            ring_memory ring;
            const std::size_t payload = static_cast<std::size_t>(slots) * slot_bytes;
            ring.slots_and_flags = find_transport(*source, *destination)
                                       .place(source, destination, payload + slots * sizeof(std::uint64_t));
            ring.credits =
                find_transport(*destination, *source).place(destination, source, slots * sizeof(std::uint64_t));
            ring.layout.slots = ring.slots_and_flags.get();
            ring.layout.flags = reinterpret_cast<std::uint64_t*>(ring.slots_and_flags.get() + payload);
            ring.layout.credits = reinterpret_cast<std::uint64_t*>(ring.credits.get());
            ring.layout.tail = tails_.back().data() + static_cast<std::size_t>(d) * destructive_bytes / 8;
            ring.layout.n_slots = slots;
            ring.layout.slot_bytes = slot_bytes;
            rings_[pair(s, d)] = ring;
        }
    }
}

void post_office::make_tables() {
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
        work_.emplace_back(device, 1);
        const service_lines lines(machine_.n_pes(), grids_[static_cast<std::size_t>(pe)].server_warps());
        line_next_.emplace_back(device, static_cast<std::size_t>(std::max(1, lines.count())));
        finished_.emplace_back(device, 1);
    }
}

void post_office::make_waves() {
    const auto& coordinator = machine_.device(0);
    std::vector<wave_command*> commands;
    std::vector<const wave_reply*> replies;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto& device = machine_.device(pe);
        commands_.push_back(find_transport(*coordinator, *device).place(coordinator, device, sizeof(wave_command)));
        replies_.push_back(find_transport(*device, *coordinator).place(device, coordinator, sizeof(wave_reply)));
        commands.push_back(reinterpret_cast<wave_command*>(commands_.back().get()));
        replies.push_back(reinterpret_cast<const wave_reply*>(replies_.back().get()));
    }
    command_table_ = buffer<wave_command*>(coordinator, n_);
    command_table_.copy_in(commands);
    reply_table_ = buffer<const wave_reply*>(coordinator, n_);
    reply_table_.copy_in(replies);
    samples_ = buffer<wave_sample>(coordinator, std::max<std::size_t>(1, options_.progress_samples));
    n_samples_ = buffer<std::uint64_t>(coordinator, 1);
}

void post_office::reset() {
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto p = static_cast<std::size_t>(pe);
        device& own = *machine_.device(pe);
        tails_[p].fill_bytes(0);
        sent_[p].fill_bytes(0);
        work_[p].fill_bytes(0);
        finished_[p].fill_bytes(0);
        const service_lines lines(machine_.n_pes(), grids_[p].server_warps());
        std::vector<std::uint64_t> next(line_next_[p].size());
        for (int line = 0; line < lines.count(); ++line) {
            next[static_cast<std::size_t>(line)] = static_cast<std::uint64_t>(lines.residue(line));
        }
        line_next_[p].copy_in(next);
        for (int other = 0; other < machine_.n_pes(); ++other) {
            if (other == pe) continue;
            const chunk_ring_layout& in = rings_[pair(other, pe)].layout;
            const chunk_ring_layout& out = rings_[pair(pe, other)].layout;
            clear(own, reinterpret_cast<std::byte*>(in.flags), in.n_slots * sizeof(std::uint64_t));
            clear(own, reinterpret_cast<std::byte*>(out.credits), out.n_slots * sizeof(std::uint64_t));
        }
        clear(own, commands_[p].get(), sizeof(wave_command));
        clear(*machine_.device(0), replies_[p].get(), sizeof(wave_reply));
    }
    n_samples_.fill_bytes(0);
}

links_ref post_office::links(int pe) const {
    const auto p = static_cast<std::size_t>(pe);
    links_ref ref;
    ref.to = to_[p].data();
    ref.from = from_[p].data();
    ref.sent = sent_[p].data();
    ref.work = work_[p].data();
    ref.line_next = line_next_[p].data();
    ref.server_warps = grids_[p].server_warps();
    ref.age_ns = options_.age_ns;
    ref.deaf = options_.fault == injected_fault::deaf_server && options_.fault_pe == pe;
    ref.keeps_credits = options_.fault == injected_fault::stuck_credit && options_.fault_pe == pe;
    return ref;
}

waves_ref post_office::waves(int pe, const threshold_policy& policy) const {
    const auto p = static_cast<std::size_t>(pe);
    waves_ref ref;
    ref.commands = command_table_.data();
    ref.replies = reply_table_.data();
    ref.command = reinterpret_cast<const wave_command*>(commands_[p].get());
    ref.reply = reinterpret_cast<wave_reply*>(replies_[p].get());
    ref.finished = finished_[p].data();
    ref.samples = samples_.data();
    ref.n_samples = n_samples_.data();
    ref.max_samples = options_.progress_samples / 2 * 2;
    ref.policy = policy;
    return ref;
}

run_report post_office::report(double seconds, std::size_t message_bytes) const {
    run_report report;
    report.devices = machine_.names();
    report.run_seconds = seconds;
    for (std::size_t p = 0; p < n_; ++p) {
        const work_counters work = work_[p].copy_out()[0];
        report.posted += work.posted;
        report.direct += work.direct;
        report.served += work.served;
        const auto sent = sent_[p].copy_out();
        for (std::size_t d = 0; d < n_; ++d) {
            report.carried += sent[d].messages;
            report.traffic_matrix.push_back({sent[d].messages, sent[d].chunks, sent[d].messages * message_bytes});
        }
    }
    const auto samples = samples_.copy_out();
    const std::uint64_t n = n_samples_.copy_out()[0];
    for (std::size_t i = 0; i < n; ++i) {
        report.progress.push_back({samples[i].time_ns, samples[i].served, samples[i].open});
    }
    if (report.posted != report.direct + report.carried || report.carried != report.served) {
        throw device_fault("audit mismatch: " + std::to_string(report.posted) + " messages posted, " +
                           std::to_string(report.direct) + " served directly, " + std::to_string(report.carried) +
                           " carried, " + std::to_string(report.served) + " served");
    }
    return report;
}

std::uint64_t post_office::items() const {
    std::uint64_t sum = 0;
    for (const auto& w : work_) sum += w.copy_out()[0].items;
    return sum;
}

std::string post_office::ring_fills() const {
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
            text += "; ring " + std::to_string(s) + "->" + std::to_string(d) + ": " + std::to_string(used) + " of " +
                    std::to_string(ring.n_slots) + " slots in use";
        }
    }
    return text;
}

}  // namespace laneway
