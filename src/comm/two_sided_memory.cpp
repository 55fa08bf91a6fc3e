#include "laneway/comm/two_sided/two_sided_memory.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

/// Places of probes and cancels: those of host threads never wait for one.
std::uint32_t looks(const communicator_options& o) { return 32 + o.host_operations; }
/// Of unexpected messages.
std::uint32_t places(const communicator_options& o) { return o.unexpected + spare_places; }
/// Of a queue that has room for all of these.
std::uint32_t returned_places(const communicator_options& o) {
    return o.rules.is_unordered() ? std::bit_ceil(places(o)) : 1;
}
/// Of a queue that has room for all requests.
std::uint32_t asked_places(const communicator_options& o) { return std::bit_ceil(o.requests + looks(o)); }
std::uint32_t fetch_queues(const communicator_options& o) { return std::min(o.requests, max_fetch_queues); }
/// Places with all of `numbers` numbers from `first` on.
buffer<std::uint32_t> free_from(const std::shared_ptr<device>& owner, std::uint32_t first, std::uint32_t numbers) {
    std::vector<std::uint32_t> places(std::bit_ceil(numbers));
    std::iota(places.begin(), places.begin() + numbers, first + 1);
    buffer<std::uint32_t> made(owner, places.size());
    made.copy_in(places);
    return made;
}
/// What belongs to them.
free_numbers_words all_free(std::uint32_t numbers) { return {numbers, 0, numbers}; }
free_numbers_ref free_of(const buffer<std::uint32_t>& places, free_numbers_words& words) {
    return {places.data(), &words, static_cast<std::uint32_t>(places.size())};
}

/// Places of requests as they are now, but all free, of the next generation: handles that lanes keep name none of them.
std::vector<request_slot> all_free_again(const buffer<request_slot>& requests) {
    std::vector<request_slot> slots = requests.copy_out();
    for (request_slot& slot : slots) {
        const request_word last{slot.word};
        slot = {};
        slot.word = request_word::of(last.generation() + 1, request_word::free);
    }
    return slots;
}

/// On GPUs some sixty microseconds. It must be longer than a message takes through the queues: then a lane whose
/// partner has gone through them once still looks when the answer comes, and both receive so from then on.
std::uint32_t looks_of(device_kind of) { return of == device_kind::cuda ? 96 : of == device_kind::checked ? 4 : 1; }

void must_be_power(std::uint32_t value, std::uint32_t least, std::uint32_t most, const char* name) {
    if (std::has_single_bit(value) && value >= least && value <= most) return;
    throw usage_error(std::string("communicator_options::") + name + ": a power of two from " + std::to_string(least) +
                      " to " + std::to_string(most) + ", not " + std::to_string(value));
}

const communicator_options& valid(const communicator_options& o) {
    must_be_power(o.requests, 32, 1u << 20, "requests");
    must_be_power(o.engines, 1, 1024, "engines");
    must_be_power(o.ring_slots, 1, 1u << 16, "ring_slots");
    if (o.unexpected == 0 || o.unexpected > 1u << 20) {
        throw usage_error("communicator_options::unexpected: from 1 to 1048576, not " + std::to_string(o.unexpected));
    }
    if (o.unexpected_bytes > std::uint64_t{1} << 34) {
        throw usage_error("communicator_options::unexpected_bytes: 17179869184 at most, not " +
                          std::to_string(o.unexpected_bytes));
    }
    if (o.eager_bytes < 64 || o.eager_bytes > 1u << 20 || o.eager_bytes % 16 != 0) {
        throw usage_error("communicator_options::eager_bytes: a multiple of 16 from 64 to 1048576, not " +
                          std::to_string(o.eager_bytes));
    }
    if (o.ring_looks > 1u << 20) {
        throw usage_error("communicator_options::ring_looks: 1048576 at most, not " + std::to_string(o.ring_looks));
    }
    const std::uint32_t most = std::min(4096u, o.requests);
    if (o.host_operations == 0 || o.host_operations > most) {
        throw usage_error("communicator_options::host_operations: from 1 to " + std::to_string(most) +
                          ", and no more than `requests`, not " + std::to_string(o.host_operations));
    }
    if (o.host_bytes == 0 || o.host_bytes > 1u << 30 || o.host_bytes % 64 != 0) {
        throw usage_error("communicator_options::host_bytes: a multiple of 64, not " + std::to_string(o.host_bytes));
    }
    if (o.engines > 1 && !o.rules.no_any_source) {
        throw usage_error("communicator_options::engines: " + std::to_string(o.engines) +
                          " share messages by their source, or by source and tag, so rules.no_any_source must be "
                          "promised");
    }
    return o;
}

/// One heap for all engines of a PE. Its pages hold eight of the largest payloads, so that what few messages of one
/// size keep from the others is little.
device_heap_options payload_options(const communicator_options& o) {
    const std::size_t page = std::min(std::size_t{1} << 20, std::bit_ceil(std::size_t{o.eager_bytes}) * 8);
    const auto bytes = static_cast<std::size_t>(o.unexpected_bytes);
    return {.bytes = std::max(bytes, std::max(page, std::size_t{1} << 10)),
            .page_bytes = std::max(page, std::size_t{1} << 10),
            .quotas = {{"unexpected messages"}}};
}

/// Chains of an engine, or buckets of a table, twice as many as entries wait there. All requests may be receives of one
/// engine, so it has entries for them; but engines share receives out, and chains that are longer lose nothing.
std::uint32_t chains_of(const communicator_options& o, int n_pes) {
    const std::uint32_t sharing =
        o.rules.no_any_tag ? o.engines : std::min(o.engines, static_cast<std::uint32_t>(n_pes));
    return std::bit_ceil(2 * std::max(o.requests / sharing, o.unexpected));
}

matching_options engine_options(const communicator_options& o, int n_pes) {
    return {
        .posted = o.requests + spare_places, .unexpected = places(o), .chains = chains_of(o, n_pes), .rules = o.rules};
}

}  // namespace

two_sided_memory::shard_memory::shard_memory(const std::shared_ptr<device>& owner, const communicator_options& options,
                                             int n_pes)
    : read(owner, static_cast<std::size_t>(n_pes)), taken(owner, static_cast<std::size_t>(n_pes) * options.ring_slots),
      kept(owner, options.rules.is_unordered() ? taken.size() : 1), taken_of(owner, kept.size()),
      asked(owner, asked_places(options)), sends(owner, taken.size()), sending(owner, taken.size()),
      unexpected(owner, places(options)), free_places(owner, places(options)),
      returned(owner, returned_places(options)), state(owner, 1) {
    if (options.rules.is_unordered()) {
        table.emplace(owner, places(options), options.requests, chains_of(options, n_pes));
    } else {
        engine.emplace(owner, engine_options(options, n_pes));
    }
    std::vector<std::uint32_t> all(places(options));
    std::iota(all.begin(), all.end(), 0);
    free_places.copy_in(all);
    shard_state empty{};
    empty.n_free = empty.min_free = places(options);
    empty.opened = options.rules.is_unordered() || options.rules.no_unexpected ? 0 : 1;
    state.copy_in(&empty, 1);
    read.copy_in(std::vector<ring_progress>(read.size(), {empty.opened != 0 ? ring_progress::open : 0, 0}));
}

two_sided_memory::two_sided_memory(machine& machine, const communicator_options& options, std::uint32_t number)
    : machine_(machine), options_(valid(options)), number_(number), answers_(machine, options.requests) {
    const std::shared_ptr<proxy> carrier = proxy::of(machine);
    for (std::uint32_t s = 0; s < options.engines; ++s) {
        rings_.push_back(std::make_unique<message_rings>(machine, options.ring_slots,
                                                         slot_header::bytes_used + options.eager_bytes, carrier));
    }
    make_parts();
}

void two_sided_memory::make_parts() {
    parts_.clear();
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto& owner = machine_.device(pe);
        part made;
        std::vector<message_shard_ref> refs;
        for (std::uint32_t s = 0; s < options_.engines; ++s) {
            made.shards.push_back(std::make_unique<shard_memory>(owner, options_, machine_.n_pes()));
            refs.push_back(ref_of(*made.shards.back(), *rings_[s], pe));
        }
        made.refs = buffer<message_shard_ref>(owner, refs.size());
        made.refs.copy_in(refs);
        made.requests = buffer<request_slot>(owner, options_.requests + looks(options_));
        made.fetches = buffer<std::uint64_t>(owner, options_.requests);
        made.fetch_ends = buffer<number_queue_ends>(owner, fetch_queues(options_));
        made.free_requests = free_from(owner, 0, options_.requests);
        made.free_looks = free_from(owner, options_.requests, looks(options_));
        made.counters = buffer<two_sided_counters>(owner, 1);
        two_sided_counters start{};
        start.free_requests = all_free(options_.requests);
        start.free_looks = all_free(looks(options_));
        made.counters.copy_in(&start, 1);
        made.payloads = std::make_unique<device_heap>(owner, payload_options(options_));
        parts_.push_back(std::move(made));
    }
}

message_shard_ref two_sided_memory::ref_of(const shard_memory& shard, const message_rings& rings, int pe) const {
    message_shard_ref made;
    if (shard.engine) made.engine = shard.engine->ref();
    if (shard.table) {
        made.table = shard.table->ref();
        made.table.counts = &shard.state.data()->counts;
    }
    made.to = rings.to(pe);
    made.from = rings.from(pe);
    made.read = shard.read.data();
    made.taken = shard.taken.data();
    made.kept = shard.kept.data();
    made.taken_of = shard.taken_of.data();
    made.asked = {shard.asked.data(), &shard.state.data()->asked, &shard.state.data()->answered,
                  asked_places(options_)};
    made.sends = shard.sends.data();
    made.sending = shard.sending.data();
    made.unexpected = shard.unexpected.data();
    made.free_places = shard.free_places.data();
    made.returned = {shard.returned.data(), &shard.state.data()->returned, &shard.state.data()->reclaimed,
                     returned_places(options_)};
    made.state = shard.state.data();
    return made;
}

two_sided_ref two_sided_memory::ref(int pe) const {
    const part& mine = parts_[static_cast<std::size_t>(pe)];
    two_sided_ref made;
    made.shards = mine.refs.data();
    made.requests = mine.requests.data();
    made.counters = mine.counters.data();
    made.payloads = mine.payloads->ref();
    two_sided_counters* const counters = mine.counters.data();
    made.free_requests = free_of(mine.free_requests, counters->free_requests);
    made.free_looks = free_of(mine.free_looks, counters->free_looks);
    made.fetches = mine.fetches.data();
    made.fetch_ends = mine.fetch_ends.data();
    made.n_fetch_queues = fetch_queues(options_);
    made.answers = answers_.ref();
    made.n_shards = options_.engines;
    made.n_requests = options_.requests;
    made.n_looks = looks(options_);
    made.slot_payload = options_.eager_bytes;
    made.number = number_;
    made.team_load = options_.team_load;
    made.ring_looks = options_.ring_looks != 0 ? options_.ring_looks : looks_of(machine_.device(pe)->id().kind);
    made.exact_length = options_.exact_length;
    made.rules = options_.rules;
    return made;
}

/// Of one engine, or table.
std::uint64_t two_sided_memory::matching_bytes() const {
    const int n_pes = machine_.n_pes();
    if (!options_.rules.is_unordered()) return matching_engine::bytes_of(engine_options(options_, n_pes));
    return unordered_table::bytes_of(places(options_), options_.requests, chains_of(options_, n_pes)) +
           returned_places(options_) * sizeof(std::uint64_t);
}

std::uint64_t two_sided_memory::held_bytes() const {
    const std::uint64_t kept = std::uint64_t{places(options_)} * (sizeof(unexpected_message) + 4);
    const std::uint64_t rings =
        message_rings::bytes(machine_.n_pes(), options_.ring_slots, slot_header::bytes_used + options_.eager_bytes) +
        rings_.front()->staging_bytes(0);  // as much on each PE
    const std::uint64_t slots = static_cast<std::uint64_t>(machine_.n_pes()) * options_.ring_slots;
    const std::uint64_t a_shard = matching_bytes() + kept + rings + asked_places(options_) * 8u + sizeof(shard_state) +
                                  slots * (4 + sizeof(send_chain) + 4 + (options_.rules.is_unordered() ? 8 : 0));
    const std::uint64_t requests = options_.requests * (sizeof(request_slot) + 20u) +
                                   looks(options_) * sizeof(request_slot) + std::bit_ceil(looks(options_)) * 4u +
                                   fetch_queues(options_) * sizeof(number_queue_ends);
    return options_.engines * a_shard + requests + sizeof(two_sided_counters) +
           device_heap::bytes_of(payload_options(options_));
}

void two_sided_memory::clear() {
    for (const auto& rings : rings_) rings->reset();
    answers_.clear();
    std::vector<std::vector<request_slot>> requests;
    for (const part& left : parts_) requests.push_back(all_free_again(left.requests));
    make_parts();
    for (std::size_t pe = 0; pe < parts_.size(); ++pe) parts_[pe].requests.copy_in(requests[pe]);
}

matching_statistics two_sided_memory::statistics(const shard_memory& shard) const {
    const shard_state state = shard.state.copy_out()[0];
    if (shard.engine) {
        matching_statistics all = shard.engine->statistics();
        all.counts.messages += state.met;
        all.counts.receives += state.met;
        all.counts.matches += state.met;
        return all;
    }
    matching_statistics all;
    all.counts = state.counts;
    all.counts.receives += state.met;
    all.counts.matches += state.met;
    for (const auto& entry : shard.table->waiting()) ++(entry.is_message ? all.unexpected : all.posted);
    all.max_posted = std::max(state.max_posted, all.posted);
    all.max_unexpected = places(options_) - state.min_free;
    return all;
}

/// Slots of its rings whose messages have come in.
std::uint64_t two_sided_memory::slots_taken(const shard_memory& shard) {
    std::uint64_t n = 0;
    for (const ring_progress& ring : shard.read.copy_out()) n += ring_progress::ticket_of(ring.next);
    for (const std::uint32_t taken : shard.taken.copy_out()) n += taken;
    return n;
}

communicator_statistics two_sided_memory::statistics(int pe) const {
    communicator_statistics all;
    for (const auto& shard : parts_[static_cast<std::size_t>(pe)].shards) {
        const matching_statistics one = statistics(*shard);
        all.counts.messages += one.counts.messages;
        all.counts.receives += one.counts.receives;
        all.counts.unexpected += one.counts.unexpected;
        all.counts.matches += one.counts.matches;
        all.counts.looks += one.counts.looks;
        all.counts.deepest = std::max(all.counts.deepest, one.counts.deepest);
        if (one.counts.messages + one.counts.receives != 0) ++all.engines_used;
        all.posted += one.posted;
        all.unexpected += one.unexpected;
        all.max_posted = std::max(all.max_posted, one.max_posted);
        all.max_unexpected = std::max(all.max_unexpected, one.max_unexpected);
        const shard_state state = shard->state.copy_out()[0];
        all.slots += slots_taken(*shard);
        all.turns += state.turns;
        all.team_turns += state.team_turns;
    }
    return all;
}

quota_statistics two_sided_memory::unexpected_memory(int pe) const {
    return parts_[static_cast<std::size_t>(pe)].payloads->quotas()[0];
}

bool two_sided_memory::is_passive() const {
    std::uint64_t created = 0, completed = 0;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const part& mine = parts_[static_cast<std::size_t>(pe)];
        for (const auto& rings : rings_) {
            for (const std::uint64_t tickets : rings->drawn(pe)) created += tickets;
        }
        for (const auto& shard : mine.shards) created += shard->state.copy_out()[0].asked;
        const two_sided_counters counters = mine.counters.copy_out()[0];
        for (const number_queue_ends& queue : mine.fetch_ends.copy_out()) created += queue.drawn;
        completed += counters.completed;
        for (const request_slot& slot : mine.requests.copy_out()) {
            if (request_word{slot.word}.state() != request_word::free) return false;
        }
    }
    return created == completed;
}

}  // namespace laneway
