// What a communicator tells of its queues when a run has failed, or when somebody asks.
#include <algorithm>
#include <bit>

#include "laneway/comm/two_sided/two_sided_memory.hpp"

namespace laneway {

namespace {

constexpr std::size_t max_told = 4;  // of each kind, on each PE

using kind = pending_message::kind;

std::string tag_text(std::uint32_t tag) { return tag == any_tag ? "any tag" : "tag " + std::to_string(tag); }
std::string source_text(std::uint32_t source) {
    return source == any_source ? "any PE" : "PE " + std::to_string(source);
}

std::string listed(const std::vector<pending_message>& all, int pe, kind what) {
    std::string text;
    std::size_t count = 0;
    for (const pending_message& one : all) {
        if (one.pe != pe || one.what != what) continue;
        if (count++ < max_told) text += (count == 1 ? " " : ", ") + one.text();
    }
    if (count > max_told) text += " and " + std::to_string(count - max_told) + " more";
    return text.empty() ? text : (";" + text);
}

/// Of each PE what its lanes wait for.
using waits_by_pe = std::vector<std::vector<const pending_message*>>;

/// Whether a wait ends only if one of these PEs goes on: its own PE's other lanes may answer a receive from any PE.
bool is_blocked(const pending_message& wait, const std::vector<char>& stuck) {
    if (wait.key.source != any_source) return stuck[wait.key.source] != 0;
    return std::all_of(stuck.begin(), stuck.end(), [](char one) { return one != 0; });
}

/// Leaves the waits of PEs that all wait for each other, none for one that may go on or has returned.
waits_by_pe blocked_only(waits_by_pe waits) {
    std::vector<char> stuck(waits.size(), 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t pe = 0; pe < waits.size(); ++pe) {
            std::erase_if(waits[pe], [&](const pending_message* one) { return !is_blocked(*one, stuck); });
            if (!waits[pe].empty() || stuck[pe] == 0) continue;
            stuck[pe] = 0;
            changed = true;
        }
    }
    return waits;
}

/// Follows what each PE waits for from `at` on, until one comes again.
bool find_circle(const waits_by_pe& waits, int at, std::vector<char>& seen, std::vector<const pending_message*>& path) {
    seen[static_cast<std::size_t>(at)] = 1;
    for (const pending_message* one : waits[static_cast<std::size_t>(at)]) {
        for (int next = 0; next < static_cast<int>(waits.size()); ++next) {
            const bool is_meant =
                one->key.source == any_source ? next != at : static_cast<int>(one->key.source) == next;
            if (!is_meant) continue;
            path.push_back(one);
            const auto start = std::find_if(path.begin(), path.end(), [&](const auto* p) { return p->pe == next; });
            if (start != path.end()) {
                path.erase(path.begin(), start);
                return true;
            }
            if (seen[static_cast<std::size_t>(next)] == 0 && find_circle(waits, next, seen, path)) return true;
            path.pop_back();
        }
    }
    return false;
}

std::string circle_text(const std::vector<pending_message>& all, int n_pes) {
    waits_by_pe waits(static_cast<std::size_t>(n_pes));
    for (const pending_message& one : all) {
        if (one.waited) waits[static_cast<std::size_t>(one.pe)].push_back(&one);
    }
    waits = blocked_only(std::move(waits));
    std::vector<char> seen(waits.size());
    for (int pe = 0; pe < n_pes; ++pe) {
        std::vector<const pending_message*> path;
        if (seen[static_cast<std::size_t>(pe)] != 0 || !find_circle(waits, pe, seen, path)) continue;
        std::string text = "; ranks wait in a circle:";
        for (const pending_message* step : path) {
            text += " PE " + std::to_string(step->pe) + " (" + step->text() + ") ->";
        }
        return text + " PE " + std::to_string(path.front()->pe);
    }
    return {};
}

/// Where it has been used up.
std::string memory_text(const quota_statistics& memory) {
    if (memory.refused_requests == 0) return {};
    return "; used up memory for " + memory.name + ", communicator_options::unexpected_bytes, " +
           std::to_string(memory.held_bytes) + " of " + std::to_string(memory.allowed_bytes) + " bytes in " +
           std::to_string(memory.live_allocations()) + " payloads";
}

}  // namespace

std::string pending_message::text() const {
    const std::string size = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    if (what == kind::receive) return "receive of " + tag_text(key.tag) + " from " + source_text(key.source);
    if (what == kind::send) return "send of " + size + ", " + tag_text(key.tag) + " to " + source_text(key.source);
    return "unexpected message of " + size + ", " + tag_text(key.tag) + " from " + source_text(key.source);
}

void two_sided_memory::add_requests(int pe, std::vector<pending_message>& all) const {
    const auto answers = answers_.copy_out(pe);
    const auto slots = parts_[static_cast<std::size_t>(pe)].requests.copy_out();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const request_slot& slot = slots[i];
        const request_word word{slot.word};
        if (word.state() != request_word::open || slot.kind == request_kind::cancel) continue;
        const bool is_send = slot.kind == request_kind::send;
        if (is_send && slot.answered != 0 && answers[i] == std::uint64_t{word.generation()} + 1) continue;
        all.push_back({pe, is_send ? kind::send : kind::receive, slot.key, slot.bytes, slot.waited != 0});
    }
}

void two_sided_memory::add_unexpected(int pe, const shard_memory& shard, std::vector<pending_message>& all) const {
    const auto messages = shard.unexpected.copy_out();
    const auto add = [&](std::uint32_t place) {
        all.push_back({pe, kind::unexpected, messages[place].key, messages[place].bytes, false});
    };
    if (shard.engine) {
        for (const match_entry& entry : shard.engine->waiting()) add(entry.handle);
    } else {
        for (const auto& entry : shard.table->waiting()) {
            if (entry.is_message) add(entry.handle);
        }
    }
}

std::vector<pending_message> two_sided_memory::pending() const {
    std::vector<pending_message> all;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        add_requests(pe, all);
        for (const auto& shard : parts_[static_cast<std::size_t>(pe)].shards) add_unexpected(pe, *shard, all);
    }
    return all;
}

/// Messages that have a ticket and have not come in: in rings, or waiting for room in one.
std::uint64_t two_sided_memory::on_their_way(int pe) const {
    std::uint64_t n = 0;
    for (std::size_t s = 0; s < rings_.size(); ++s) {
        const shard_memory& shard = *parts_[static_cast<std::size_t>(pe)].shards[s];
        n -= slots_taken(shard);
        for (int source = 0; source < machine_.n_pes(); ++source) {
            n += rings_[s]->drawn(source)[static_cast<std::size_t>(pe)];
        }
        if (options_.rules.is_unordered()) n += mates_on_their_way(pe, s);
    }
    return n;
}

/// The same of slots that lanes share, beyond one each: a ticket stands for all.
std::uint64_t two_sided_memory::mates_on_their_way(int pe, std::size_t number) const {
    const shard_memory& shard = *parts_[static_cast<std::size_t>(pe)].shards[number];
    const auto read = shard.read.copy_out();
    const auto taken = shard.taken.copy_out(), taken_of = shard.taken_of.copy_out();
    std::uint64_t n = 0;
    for (int source = 0; source < machine_.n_pes(); ++source) {
        const auto flags = rings_[number]->flags(source, pe);
        for (std::size_t at = 0; at < flags.size(); ++at) {
            const std::uint64_t first = ring_progress::ticket_of(read[static_cast<std::size_t>(source)].next);
            const std::size_t in_ring = (first + at) % flags.size();
            const std::size_t slot = static_cast<std::size_t>(source) * flags.size() + in_ring;
            const std::uint64_t ticket = first + at + std::uint64_t{taken[slot]} * flags.size();
            const chunk_label label = chunk_receiver::label_of(flags[in_ring], ticket);
            if (label.bits == 0 || label.kind() != static_cast<std::uint32_t>(message_form::together)) continue;
            n += label.messages() - 1 - static_cast<std::uint32_t>(std::popcount(taken_of[slot]));
        }
    }
    return n;
}

std::string two_sided_memory::account() const {
    const auto all = pending();
    if (all.empty()) return {};
    std::string text = "; communicator " + std::to_string(number_) + ":";
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        std::string here =
            listed(all, pe, kind::receive) + listed(all, pe, kind::send) + listed(all, pe, kind::unexpected);
        if (const std::uint64_t n = on_their_way(pe); n > 0) {
            here += "; " + std::to_string(n) + (n == 1 ? " message on its way" : " messages on their way") + " to it";
        }
        if (statistics(pe).unexpected >= options_.unexpected) {
            here += "; no room for more unexpected messages, communicator_options::unexpected, " +
                    std::to_string(options_.unexpected);
        }
        here += memory_text(unexpected_memory(pe));
        if (!here.empty()) text += " PE " + std::to_string(pe) + " has" + here.substr(1) + ";";
    }
    text.pop_back();
    // Another fault has stopped lanes in the middle of what they waited for.
    const fault_record* const fault = machine_.fault();
    if (fault != nullptr && fault->code != status::timeout) return text;
    return text + circle_text(all, machine_.n_pes());
}

}  // namespace laneway
