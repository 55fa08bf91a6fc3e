#include "laneway/task/remote_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "laneway/base/error.hpp"
#include "laneway/run/resident_program.hpp"

namespace laneway {

namespace {

constexpr std::uint32_t max_slots = 1u << 16;

std::string queue_name(const char* what) { return std::string("remote queue: ") + what; }

/// Options as they are used: those that a machine has set, and sizes that are powers of two.
remote_queue_options checked_options(const machine& machine, remote_queue_options options) {
    if (options.priorities.empty() || options.priorities.size() > max_remote_queues) {
        throw usage_error(queue_name("1 to ") + std::to_string(max_remote_queues) + " queues, not " +
                          std::to_string(options.priorities.size()));
    }
    for (const auto& [slots, name] :
         {std::pair{options.slots, "slots"}, {options.host_slots, "host_slots"}, {options.launches, "launches"}}) {
        if (slots >= 1 && slots <= max_slots) continue;
        throw usage_error(queue_name(name) + ": 1 to " + std::to_string(max_slots) + ", not " + std::to_string(slots));
    }
    if (options.shards > 1024) {
        throw usage_error(queue_name("shards: at most 1024, not ") + std::to_string(options.shards));
    }
    refuse_without_atomics(machine, "remote queue");
    options.slots = std::bit_ceil(options.slots);
    options.host_slots = std::bit_ceil(options.host_slots);
    if (options.shards == 0) {
        // A GPU's warp looks at all rings at once, a lane each, and at what host threads have left for each queue.
        const std::size_t rings = machine.has_gpus() ? 32 / options.priorities.size() - 1 : 1;
        const std::size_t shards = rings / static_cast<std::size_t>(machine.n_pes());
        options.shards = static_cast<std::uint32_t>(std::max<std::size_t>(shards, 1));
    }
    return options;
}

std::uint32_t slot_bytes_for(const std::vector<remote_shape>& functions) {
    std::size_t bytes = sizeof(remote_record<remote_bytes>);
    for (const remote_shape& f : functions) bytes = std::max(bytes, f.record_bytes * f.batch);
    return static_cast<std::uint32_t>((bytes + 15) / 16 * 16);
}

}  // namespace

remote_memory::remote_memory(machine& machine, const remote_queue_options& options, std::vector<remote_shape> functions)
    : machine_(machine), options_(checked_options(machine, options)), functions_(std::move(functions)),
      slot_bytes_(slot_bytes_for(functions_)), slots_(machine, slots_of_a_pe() * (slot_bytes_ / 16)),
      flags_(machine, slots_of_a_pe()), words_(machine, slots_of_a_pe() * chunk_words),
      credits_(machine, slots_of_a_pe()), tails_(machine, rings_of_a_pe()), heads_(machine, rings_of_a_pe()),
      counts_(machine, 1), ranges_(machine, 2 * std::uint64_t{remote_names_ref::most} + 1) {
    std::iota(std::begin(by_priority_), std::end(by_priority_), 0u);
    std::stable_sort(std::begin(by_priority_), std::begin(by_priority_) + options_.priorities.size(),
                     [&](std::uint32_t a, std::uint32_t b) { return options_.priorities[a] > options_.priorities[b]; });
}

std::uint64_t remote_memory::rings_of_a_pe() const {
    return options_.priorities.size() * options_.shards * static_cast<std::uint64_t>(machine_.n_pes());
}

void remote_memory::refuse_in_session() const {
    if (access_.is_connected()) throw usage_error(queue_name("what it names is registered before a session starts"));
}

std::uint32_t remote_memory::add_signal(const symmetric_array<std::uint64_t>& words, std::uint64_t element) {
    refuse_in_session();
    if (element >= words.size()) {
        throw usage_error(queue_name("a signal at element ") + std::to_string(element) + " of an array of " +
                          std::to_string(words.size()));
    }
    if (signals_.size() == remote_names_ref::most) {
        throw usage_error(queue_name("at most ") + std::to_string(remote_names_ref::most) + " signals");
    }
    signals_.push_back({{memory_op::add, words.ref()[element]}, 1});
    return static_cast<std::uint32_t>(signals_.size() - 1);
}

std::uint32_t remote_memory::add_buffer(const remote_range& range) {
    refuse_in_session();
    if (buffers_.size() == remote_names_ref::most) {
        throw usage_error(queue_name("at most ") + std::to_string(remote_names_ref::most) + " target buffers");
    }
    buffers_.push_back(range);
    return static_cast<std::uint32_t>(buffers_.size() - 1);
}

std::uint32_t remote_memory::add_kernel(std::string name, remote_kernels::function called) {
    refuse_in_session();
    if (!called) throw usage_error(queue_name("a kernel without a function"));
    if (kernels_ == nullptr) {
        kernels_ = std::make_shared<remote_kernels>(machine_, options_.launches);
        machine_.attach(kernels_);
    }
    return kernels_->add(std::move(name), std::move(called));
}

remote_rings_ref remote_memory::rings() const {
    remote_rings_ref made;
    made.slots = slots_.ref();
    made.flags = flags_.ref();
    made.words = words_.ref();
    made.credits = credits_.ref();
    made.tails = tails_.ref();
    made.heads = heads_.ref();
    made.counts = counts_.ref();
    made.n_slots = options_.slots;
    made.slot_bytes = slot_bytes_;
    made.n_queues = static_cast<std::uint32_t>(options_.priorities.size());
    made.n_shards = options_.shards;
    std::copy(std::begin(by_priority_), std::end(by_priority_), std::begin(made.by_priority));
    return made;
}

remote_names_ref remote_memory::names() const {
    remote_names_ref made;
    made.ranges = ranges_.ref();
    made.n_signals = static_cast<std::uint32_t>(signals_.size());
    made.n_buffers = static_cast<std::uint32_t>(buffers_.size());
    made.n_kernels = kernels_ == nullptr ? 0 : kernels_->size();
    for (std::size_t q = 0; q < inboxes_.size(); ++q) {
        const auto inbox = inboxes_[q]->ref(0);
        made.answers.places[q] = inbox.answers;
        made.answers.bytes = inbox.answer_bytes;
    }
    return made;
}

remote_launches_ref remote_memory::launches(int pe) const {
    return kernels_ == nullptr ? remote_launches_ref{} : kernels_->ref(pe);
}

remote_inboxes<true> remote_memory::inboxes(int pe) const {
    remote_inboxes<true> made;
    for (std::size_t q = 0; q < inboxes_.size(); ++q) made.all[q] = inboxes_[q]->ref(pe);
    return made;
}

std::uint64_t remote_memory::held_bytes() const {
    return slots_.size() * 16 + (flags_.size() + words_.size() + credits_.size()) * sizeof(std::uint64_t) +
           (tails_.size() + heads_.size()) * sizeof(remote_counter) + sizeof(remote_counts) +
           ranges_.size() * sizeof(remote_range);
}

/// What all processes of the job must have alike, as it goes to the devices.
std::vector<remote_range> remote_memory::table() const {
    std::vector<remote_range> all(ranges_.size());
    std::copy(signals_.begin(), signals_.end(), all.begin());
    std::copy(buffers_.begin(), buffers_.end(), all.begin() + remote_names_ref::most);
    std::uint64_t mark = signals_.size() * 1'000'003 + buffers_.size();
    const auto add = [&](std::uint64_t more) { mark = (mark ^ more) * 1'099'511'628'211u; };
    for (const remote_shape& f : functions_) {
        add(f.record_bytes);
        add(f.batch);
    }
    for (std::uint32_t k = 0; kernels_ != nullptr && k < kernels_->size(); ++k) {
        add(k + 1);
        for (const char c : kernels_->name(k)) add(static_cast<unsigned char>(c));
    }
    all.back().count = mark;
    return all;
}

void remote_memory::compare_processes() {
    const auto mine = table();
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto theirs = ranges_.copy_out(pe);
        if (std::memcmp(theirs.data(), mine.data(), mine.size() * sizeof(remote_range)) == 0) continue;
        throw usage_error(queue_name("the process of PE ") + std::to_string(pe) +
                          " has registered other functions, kernels, buffers or signals than this one");
    }
}

void remote_memory::begin(machine& machine) {
    if (&machine != &machine_) throw usage_error("a remote queue belongs to the runtime that has made it");
    // All commands are done behind a run that has ended well: tickets and counters run on.
    if (open_) clear();
    open_ = true;
    run_before_ = run_so_far_;
    if (kernels_ != nullptr) kernels_->begin();
    auto all = table();
    const bool same =
        all.size() == told_.size() && std::memcmp(all.data(), told_.data(), all.size() * sizeof(remote_range)) == 0;
    if (same && machine_.n_processes() == 1) return;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) ranges_.copy_in(pe, all);
    if (machine_.n_processes() > 1) compare_processes();
    told_ = std::move(all);
}

/// What a run that has failed, or a session, whose inboxes are counted with it, has left.
void remote_memory::clear() {
    for (auto* const words : {&flags_, &words_, &credits_}) words->clear();
    tails_.clear();
    heads_.clear();
    counts_.clear();
    run_so_far_ = 0;
}

remote_statistics remote_memory::statistics() const {
    remote_statistics all;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) all.run += counts_.copy_out(pe)[0].run;
    all.run -= run_before_;
    all.launched = kernels_ == nullptr ? 0 : kernels_->launched();
    return all;
}

void remote_memory::end() {
    std::uint64_t posted = 0, done = 0, run = 0;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        for (const remote_counter& tail : tails_.copy_out(pe)) posted += tail.value;
        const remote_counts counts = counts_.copy_out(pe)[0];
        done += counts.completed;
        run += counts.run;
    }
    if (posted != done) {
        throw device_fault("audit mismatch; slots of a remote queue: " + std::to_string(posted) + " posted, " +
                           std::to_string(done) + " done");
    }
    run_so_far_ = run;
    open_ = false;
}

}  // namespace laneway
