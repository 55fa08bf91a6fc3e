#include "laneway/task/service_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/task/service_queue.hpp"

namespace laneway {

namespace {

service_options checked_options(const machine& machine, service_options options) {
    const auto between = [](std::int64_t value, std::int64_t least, std::int64_t most, const char* name) {
        if (value >= least && value <= most) return;
        throw usage_error(std::string("service: ") + name + ": " + std::to_string(least) + " to " +
                          std::to_string(most) + ", not " + std::to_string(value));
    };
    between(options.slots, 1, service_queue::max_slots, "slots");
    if (options.by == service_by::host) between(options.threads, 1, 64, "threads");
    if (options.by == service_by::pe) between(options.pe, 0, machine.n_pes() - 1, "pe");
    if (!(options.server_share > 0 && options.server_share < 1)) {
        throw usage_error("service: server_share: between 0 and 1");
    }
    if (machine.n_processes() > 1) throw usage_error("a service belongs to a job of one process");
    // Host threads need no atomics between GPUs.
    options.by == service_by::host ? refuse_apart(machine, "service") : refuse_without_atomics(machine, "service");
    options.slots = std::bit_ceil(options.slots);
    return options;
}

std::uint32_t columns_of(const machine& machine) {
    std::uint32_t most = 1;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const device_kind kind = machine.device(pe)->id().kind;
        if (kind == device_kind::cuda) most = std::max(most, 32u);
        if (kind == device_kind::checked) most = std::max<std::uint32_t>(most, checked::context::warp_lanes);
    }
    return most;
}

/// Sizes that do not depend on the grids.
service_rings_ref sizes_for(const machine& machine, const service_options& options,
                            const std::vector<service_shape>& types) {
    service_rings_ref made;
    made.n_blocks = 0;
    made.n_slots = options.slots;
    made.columns = columns_of(machine);
    made.by = options.by;
    made.server_pe = options.pe;
    std::size_t bytes = 1;
    for (const service_shape& type : types) {
        bytes = std::max(bytes, type.argument_bytes);
        made.answer_words = std::max(made.answer_words, type.answer_words);
    }
    made.slot_bytes = static_cast<std::uint32_t>((bytes * made.columns + 15) / 16 * 16);
    return made;
}

/// Queues that a PE may serve.
std::uint64_t queues_of(const machine& machine, const service_rings_ref& sizes) {
    return std::uint64_t{sizes.n_blocks} *
           (sizes.by == service_by::pe ? static_cast<std::uint64_t>(machine.n_pes()) : 1);
}

std::uint64_t words_of_answers(const service_rings_ref& sizes) {
    return std::uint64_t{sizes.n_blocks} * sizes.n_slots * sizes.columns * sizes.answer_words;
}

}  // namespace

std::uint64_t service_host_queues::bytes(const service_rings_ref& sizes) {
    const std::uint64_t slots = std::uint64_t{sizes.n_blocks} * sizes.n_slots;
    return slots * sizes.slot_bytes +
           (slots + words_of_answers(sizes) + std::uint64_t{sizes.n_blocks} * service_line) * sizeof(std::uint64_t);
}

service_host_queues::service_host_queues(const std::shared_ptr<device>& device, const service_rings_ref& sizes)
    : memory_(allocate_host_visible(device, bytes(sizes))) {
    const std::uint64_t slots = std::uint64_t{sizes.n_blocks} * sizes.n_slots;
    ref_.slots = memory_.get();
    ref_.flags = reinterpret_cast<std::uint64_t*>(ref_.slots + slots * sizes.slot_bytes);
    ref_.answers = ref_.flags + slots;
    ref_.done = ref_.answers + words_of_answers(sizes);
    words_bytes_ = bytes(sizes) - slots * sizes.slot_bytes;
}

void service_host_queues::clear() const { std::memset(ref_.flags, 0, words_bytes_); }

service_memory::queues::queues(machine& machine, const service_rings_ref& sizes)
    : slots(machine, queues_of(machine, sizes) * sizes.n_slots * (sizes.slot_bytes / 16)),
      flags(machine, queues_of(machine, sizes) * sizes.n_slots),
      words(machine, queues_of(machine, sizes) * sizes.n_slots * chunk_words),
      answers(machine, words_of_answers(sizes)), done(machine, std::uint64_t{sizes.n_blocks} * service_line),
      heads(machine, queues_of(machine, sizes)), locks(machine, queues_of(machine, sizes)) {}

service_memory::service_memory(machine& machine, const service_options& options, std::vector<service_shape> types)
    : machine_(machine), options_(checked_options(machine, options)), types_(std::move(types)),
      sizes_(sizes_for(machine, options_, types_)), counts_(machine, 1) {
    heaps_.resize(static_cast<std::size_t>(machine.n_pes()));
    host_heaps_.resize(heaps_.size());
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        if (has_heap(pe)) make_heap(pe);
    }
}

/// A heap belongs to who serves, or, where host threads do, to who asks.
bool service_memory::has_heap(int pe) const {
    return options_.heap_bytes > 0 && (options_.by != service_by::pe || options_.pe == pe);
}

void service_memory::make_heap(int pe) {
    const auto at = static_cast<std::size_t>(pe);
    if (by_host()) {
        const auto& region = host_regions_.emplace_back(machine_.device(pe), options_.heap_bytes);
        host_heaps_[at] = std::make_unique<sub_allocator>(region.data(), region.size());
    } else {
        heaps_[at] = std::make_unique<device_heap>(
            machine_.device(pe), device_heap_options{.bytes = options_.heap_bytes, .page_bytes = 16 << 10});
    }
}

void service_memory::refuse(const laneway::machine& machine) const {
    if (&machine != &machine_) throw usage_error("a service belongs to the runtime that has made it");
    if (in_session_) throw usage_error("the service belongs to a session that has not been stopped");
}

void service_memory::attach(laneway::machine& machine, const comm_plan&) {
    refuse(machine);
    if (by_host()) {
        throw usage_error(
            "service: threads of the host serve lanes of a run; in a session host threads ask, and warps serve: "
            "service_by::warps or service_by::pe");
    }
    before_ = ended_ = so_far({});
}

bool service_memory::begin(machine& machine, const comm_plan& plan) {
    refuse(machine);
    std::uint32_t blocks = 0;
    server_warps_.clear();
    for (const pe_grid& grid : plan.grids) {
        blocks = std::max(blocks, static_cast<std::uint32_t>(grid.shape.blocks));
        server_warps_.push_back(static_cast<std::uint32_t>(std::max(grid.server_warps(), 1)));
    }
    const bool anew = open_ || blocks > sizes_.n_blocks;
    if (blocks > sizes_.n_blocks) make_queues(blocks);
    if (anew) clear();
    open_ = true;
    before_ = ended_;
    return anew;
}

/// Words of a run that has failed must not pass for new ones.
void service_memory::clear() {
    ended_ = {};
    counts_.clear();
    posted_->clear();
    for (const auto& of_pe : host_queues_) of_pe.clear();
    if (queues_ == nullptr) return;
    for (auto* const words :
         {&queues_->flags, &queues_->words, &queues_->answers, &queues_->done, &queues_->heads, &queues_->locks}) {
        words->clear();
    }
}

void service_memory::make_queues(std::uint32_t blocks) {
    queues_.reset();
    host_queues_.clear();
    sizes_.n_blocks = 0;  // and stays so where there is no memory for more: the next run asks again
    service_rings_ref sizes = sizes_;
    sizes.n_blocks = blocks;
    std::vector<service_host_queues> of_host;
    for (int pe = 0; pe < machine_.n_pes() && by_host(); ++pe) {
        of_host.emplace_back(machine_.device(pe), sizes);
    }
    auto posted = std::make_unique<symmetric_array<std::uint64_t>>(machine_, blocks);
    if (!by_host()) queues_ = std::make_unique<queues>(machine_, sizes);
    host_queues_ = std::move(of_host);
    posted_ = std::move(posted);
    sizes_ = sizes;
}

std::uint64_t service_memory::held_bytes(int pe) const {
    std::uint64_t bytes = (has_heap(pe) ? options_.heap_bytes : 0) + sizeof(service_counts);
    if (sizes_.n_blocks == 0) return bytes;
    bytes += posted_->size() * sizeof(std::uint64_t);
    if (by_host()) return bytes + service_host_queues::bytes(sizes_);
    return bytes + queues_->slots.size() * 16 +
           (queues_->flags.size() + queues_->words.size() + queues_->answers.size() + queues_->done.size() +
            queues_->heads.size() + queues_->locks.size()) *
               sizeof(std::uint64_t);
}

double service_memory::server_share(int pe) const {
    const bool serves = options_.by == service_by::warps || (options_.by == service_by::pe && options_.pe == pe);
    return serves ? options_.server_share : 0;
}

service_rings_ref service_memory::rings(int pe) const {
    service_rings_ref made = sizes_;
    made.counts = counts_.ref();
    made.posted = posted_->ref();
    made.server_warps = server_warps_[static_cast<std::size_t>(pe)];
    if (by_host()) {
        made.of_host = host_queues_[static_cast<std::size_t>(pe)].ref();
        return made;
    }
    made.slots = queues_->slots.ref();
    made.flags = queues_->flags.ref();
    made.words = queues_->words.ref();
    made.answers = queues_->answers.ref();
    made.done = queues_->done.ref();
    made.heads = queues_->heads.ref();
    made.locks = queues_->locks.ref();
    return made;
}

device_heap_ref service_memory::heap(int pe) const {
    const auto& found = heaps_[static_cast<std::size_t>(pe)];
    return found == nullptr ? device_heap_ref{} : found->ref();
}

sub_allocator* service_memory::host_heap(int pe) const { return host_heaps_[static_cast<std::size_t>(pe)].get(); }

service_statistics service_memory::so_far(const service_statistics& by_host) const {
    service_statistics sum = by_host;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const service_counts found = counts_.copy_out(pe)[0];
        sum.slots += found.slots;
        sum.requests += found.requests;
        sum.refused += found.refused;
    }
    return sum;
}

std::uint64_t service_memory::posted() const {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < machine_.n_pes() && posted_ != nullptr; ++pe) {
        for (const std::uint64_t slots : posted_->copy_out(pe)) sum += slots;
    }
    return sum;
}

service_statistics service_memory::statistics(const service_statistics& by_host) const {
    const service_statistics now = so_far(by_host);
    return {now.requests - before_.requests, now.slots - before_.slots, now.refused - before_.refused};
}

void service_memory::end(const service_statistics& by_host) {
    const std::uint64_t sent = posted();
    const service_statistics now = so_far(by_host);
    if (sent != now.slots) {
        throw device_fault("audit mismatch; slots of a service: " + std::to_string(sent) + " posted, " +
                           std::to_string(now.slots) + " served");
    }
    ended_ = now;
    open_ = false;
}

std::string service_memory::account(const service_statistics& by_host) const {
    std::string text = "; service by ";
    switch (options_.by) {
        case service_by::warps: text += "warps of the same PE"; break;
        case service_by::host: text += "threads of the host"; break;
        case service_by::pe: text += "warps of PE " + std::to_string(options_.pe); break;
    }
    text += ": " + std::to_string(posted() - before_.slots) + " slots posted, " +
            std::to_string(statistics(by_host).slots) + " served; request types: ";
    for (std::size_t t = 0; t < types_.size(); ++t) {
        text += (t == 0 ? "" : ", ") + std::to_string(t) + " " + types_[t].name;
    }
    return text;
}

}  // namespace laneway
