#include "laneway/comm/matching/matching_memory.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::uint32_t min_entries = 32, max_entries = 1u << 24;  // what a warp brings; what memory there may be

const matching_options& valid(const matching_options& o) {
    for (const auto& [entries, name] : {std::pair{o.posted, "posted"}, {o.unexpected, "unexpected"}}) {
        if (entries < min_entries || entries > max_entries) {
            throw usage_error(std::string("matching_options::") + name + ": from " + std::to_string(min_entries) +
                              " to " + std::to_string(max_entries) + ", not " + std::to_string(entries));
        }
    }
    if (o.chains != 0 && (!std::has_single_bit(o.chains) || o.chains > 2 * max_entries)) {
        throw usage_error("matching_options::chains: a power of two, not " + std::to_string(o.chains));
    }
    return o;
}

std::uint32_t chains_of(const matching_options& o) {
    return o.chains != 0 ? o.chains : std::bit_ceil(2 * std::max(o.posted, o.unexpected));
}

/// Sets of chains, one behind the other: up to the last kind that a receive may ask for.
std::uint32_t chain_sets(const match_rules& rules) {
    return static_cast<std::uint32_t>(std::bit_width(rules.allowed_kinds()));
}

std::uint32_t buckets_of(std::uint32_t messages, std::uint32_t receives, std::uint32_t buckets) {
    return buckets != 0 ? buckets : std::bit_ceil(2 * std::max(messages, receives));
}

}  // namespace

matching_engine::queue_memory::queue_memory(const std::shared_ptr<device>& owner, std::uint32_t capacity,
                                            const matching_options& options)
    : entries(owner, capacity), chains(owner, std::size_t{chain_sets(options.rules)} * chains_of(options)),
      free_entries(owner, capacity), state(owner, 1), n_chains(chains_of(options)) {
    std::vector<std::uint32_t> numbers(capacity);
    std::iota(numbers.begin(), numbers.end(), 0);
    free_entries.copy_in(numbers);
    match_queue_state empty{};
    empty.n_free = capacity;
    state.copy_in(&empty, 1);
}

match_queue_ref matching_engine::queue_memory::ref() const {
    return {
        entries.data(), chains.data(), free_entries.data(), state.data(), static_cast<std::uint32_t>(entries.size()),
        n_chains};
}

matching_engine::matching_engine(const std::shared_ptr<device>& owner, const matching_options& options)
    : rules_(valid(options).rules), posted_(owner, options.posted, options),
      unexpected_(owner, options.unexpected, options), counts_(owner, 1) {}

std::uint64_t matching_engine::bytes_of(const matching_options& options) {
    const std::uint64_t entries = std::uint64_t{options.posted} + options.unexpected;
    const std::uint64_t chains = std::uint64_t{2} * chain_sets(options.rules) * chains_of(options);
    return entries * (sizeof(match_entry) + sizeof(std::uint32_t)) + chains * sizeof(match_chain) +
           2 * sizeof(match_queue_state) + sizeof(match_counts);
}

matching_engine_ref matching_engine::ref() const { return {posted_.ref(), unexpected_.ref(), counts_.data(), rules_}; }

matching_statistics matching_engine::statistics() const {
    const match_queue_state posted = posted_.state.copy_out()[0], unexpected = unexpected_.state.copy_out()[0];
    matching_statistics all;
    all.counts = counts_.copy_out()[0];
    all.posted = static_cast<std::uint32_t>(posted_.entries.size()) - posted.n_free;
    all.unexpected = static_cast<std::uint32_t>(unexpected_.entries.size()) - unexpected.n_free;
    all.max_posted = posted.max_length;
    all.max_unexpected = unexpected.max_length;
    return all;
}

std::vector<match_entry> matching_engine::waiting() const {
    const match_queue_state state = unexpected_.state.copy_out()[0];
    const auto free = unexpected_.free_entries.copy_out();
    auto entries = unexpected_.entries.copy_out();
    std::vector<bool> is_free(entries.size());
    for (std::uint32_t i = 0; i < state.n_free; ++i) is_free[free[i]] = true;
    std::vector<match_entry> found;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!is_free[i]) found.push_back(entries[i]);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
    return found;
}

unordered_table::unordered_table(const std::shared_ptr<device>& owner, std::uint32_t messages, std::uint32_t receives,
                                 std::uint32_t buckets)
    : messages_(messages), receives_(receives) {
    for (const auto& [entries, name] : {std::pair{messages, "messages"}, {receives, "receives"}}) {
        if (entries == 0 || entries > max_entries) {
            throw usage_error(std::string("unordered_table: ") + name + ": from 1 to " + std::to_string(max_entries) +
                              ", not " + std::to_string(entries));
        }
    }
    if (buckets != 0 && (!std::has_single_bit(buckets) || buckets > 2 * max_entries)) {
        throw usage_error("unordered_table: buckets: a power of two, not " + std::to_string(buckets));
    }
    buckets_ = buffer<std::uint64_t>(owner, buckets_of(messages, receives, buckets));
    entries_ = buffer<unordered_entry>(owner, std::size_t{messages} + receives);
}

std::uint64_t unordered_table::bytes_of(std::uint32_t messages, std::uint32_t receives, std::uint32_t buckets) {
    return buckets_of(messages, receives, buckets) * std::uint64_t{sizeof(std::uint64_t)} +
           (std::uint64_t{messages} + receives) * sizeof(unordered_entry);
}

unordered_table_ref unordered_table::ref() const {
    return {buckets_.data(), entries_.data(), static_cast<std::uint32_t>(buckets_.size()), messages_, receives_};
}

std::vector<unordered_table::waiting_entry> unordered_table::waiting() const {
    const auto buckets = buckets_.copy_out();
    const auto entries = entries_.copy_out();
    std::vector<waiting_entry> found;
    for (const std::uint64_t bucket : buckets) {
        for (std::uint64_t link = bucket & unordered_entry::links; link != 0;) {
            const std::uint32_t number = unordered_entry::number_of(link);
            const unordered_entry& entry = entries[number];
            const std::uint64_t bits = entry.key();
            const match_key key{static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
            found.push_back({key, number < messages_ ? number : number - messages_, number < messages_});
            link = entry.next();
        }
    }
    return found;
}

}  // namespace laneway
