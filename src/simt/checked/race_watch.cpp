#include "laneway/simt/checked/race_watch.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "laneway/simt/checked/misuse.hpp"

namespace laneway::checked {

namespace {

bool is_plain(access_kind kind) { return kind == access_kind::plain_read || kind == access_kind::plain_write; }
bool reads_only(access_kind kind) { return kind == access_kind::plain_read || kind == access_kind::atomic_load; }

bool overlap(const access& a, const access& b) {
    return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

bool conflicting(const access& a, const access& b) {
    return (is_plain(a.kind) || is_plain(b.kind)) && !(reads_only(a.kind) && reads_only(b.kind)) && overlap(a, b);
}

/// Whether each access that has no order with `old` has none with `now` either, and conflicts with it as well, where
/// `old` comes before `now`.
bool speaks_for(const access& now, const access& old) {
    if (old.address < now.address || old.address + old.bytes > now.address + now.bytes) return false;
    if (now.kind == access_kind::plain_write) return true;
    if (is_plain(now.kind) != is_plain(old.kind)) return false;
    return !reads_only(now.kind) || reads_only(old.kind);
}

const char* name_of(access_kind kind) {
    switch (kind) {
        case access_kind::plain_read: return "plain read";
        case access_kind::plain_write: return "plain write";
        case access_kind::atomic_load: return "atomic load";
        case access_kind::atomic_store: return "atomic store";
        default: return "atomic update";
    }
}

bool acquires(order o) { return o == order::acquire || o == order::acq_rel; }
bool releases(order o) { return o == order::release || o == order::acq_rel; }

}  // namespace

race_watch::race_watch(bool on, std::vector<carried_memory> carried) : on_(on), between_(std::move(carried)) {
    std::sort(between_.begin(), between_.end(),
              [](const carried_memory& a, const carried_memory& b) { return std::less<>{}(a.staging, b.staging); });
}

void race_watch::watch(const pe_environment& env) {
    if (!on_) return;
    const auto pes = static_cast<std::size_t>(env.n_pes);
    for (std::uint32_t segment = 0; segment < env.n_segments; ++segment) {
        const auto begin =
            reinterpret_cast<std::uintptr_t>(env.segments[segment * pes + static_cast<std::size_t>(env.pe)]);
        const std::uint64_t bytes = env.segment_bytes[segment];
        if (begin != 0 && bytes != 0) areas_.push_back({begin, begin + bytes, segment, env.pe});
    }
    std::sort(areas_.begin(), areas_.end(), [](const area& a, const area& b) { return a.begin < b.begin; });
}

track_number race_watch::add_lane(const lane_position& lane) {
    lanes_.push_back(lane);
    return static_cast<track_number>(2 * lanes_.size() - 2);
}

const race_watch::area* race_watch::area_of(std::uintptr_t address) const {
    const auto behind = std::upper_bound(areas_.begin(), areas_.end(), address,
                                         [](std::uintptr_t at, const area& one) { return at < one.begin; });
    if (behind == areas_.begin() || address >= (behind - 1)->end) return nullptr;
    return &*(behind - 1);
}

std::optional<access> race_watch::conflict(const strand& who, const access& mine) const {
    const auto found = kept_.find(mine.address / 8);
    if (found == kept_.end()) return {};
    for (const access& other : found->second) {
        if (conflicting(mine, other) && !who.follows(other.track, other.time)) return other;
    }
    return {};
}

void race_watch::keep(strand& who, const access& mine) {
    who.act();
    auto& all = kept_[mine.address / 8];
    // One of the same track is either followed, or of a handler before: whoever comes after this one has that behind
    // it.
    std::erase_if(all, [&](const access& old) {
        return speaks_for(mine, old) && (old.track == mine.track || who.follows(old.track, old.time));
    });
    all.push_back(mine);
}

std::string race_watch::text(const access& one) const {
    return std::string(name_of(one.kind)) + " by " + lanes_[one.track / 2].text() +
           (one.track % 2 == 1 ? ", which serves," : "") + " in " + text_of(one.where);
}

void race_watch::report(const access& mine, const access& other) const {
    const area* at = area_of(mine.address);
    throw misuse(text_of_pe(at->pe) + ": no order between two accesses to word " +
                 std::to_string((mine.address - at->begin) / mine.bytes) + ", of " + std::to_string(mine.bytes) +
                 " bytes, of " + text_of_array(at->segment) + ": " + text(other) + ", and " + text(mine) +
                 "; use lw::atomic_add and its like for both, or order them");
}

void race_watch::order_atomic(strand& who, std::uintptr_t address, access_kind kind, order o) {
    const auto found = words_.find(address);
    if (kind != access_kind::atomic_store && found != words_.end()) {
        if (acquires(o)) {
            who.learn(found->second);
        } else {
            who.hear(found->second);
        }
    }
    if (kind == access_kind::atomic_load) return;
    const clock told = releases(o) ? who.tell() : who.fenced();
    if (kind == access_kind::atomic_update) {  // goes on with what the word carried: a release sequence
        if (!told.empty()) words_[address].join(told);
    } else if (!told.empty()) {
        words_[address] = told;
    } else if (found != words_.end()) {
        words_.erase(found);
    }
}

void race_watch::pass_barrier(std::uint64_t number) {
    if (number <= barriers_) return;
    // The first lane that leaves: all others are still inside, and all handlers have ended.
    barriers_ = number;
    kept_.clear();
}

void race_watch::carry(const strand& who, const void* at, bool alone) {
    at = landing_of(at);
    if (alone) carried_.erase(at);
    if (!who.fenced().empty()) carried_[at].join(who.fenced());
}

const void* race_watch::landing_of(const void* at) const {
    const auto* const word = static_cast<const std::byte*>(at);
    const auto behind = std::upper_bound(
        between_.begin(), between_.end(), word,
        [](const std::byte* one, const carried_memory& piece) { return std::less<>{}(one, piece.staging); });
    if (behind == between_.begin()) return at;
    const carried_memory& piece = *(behind - 1);
    const auto offset = static_cast<std::size_t>(word - piece.staging);
    return offset < piece.bytes ? piece.landing + offset : at;
}

void race_watch::hand_on(const void* from, const void* to) {
    from = landing_of(from);
    to = landing_of(to);
    carried_.erase(to);
    const auto found = carried_.find(from);
    if (found == carried_.end()) return;
    const clock content = found->second;
    carried_.erase(found);
    carried_.emplace(to, content);
}

clock race_watch::carried(const void* at) const {
    const auto found = carried_.find(landing_of(at));
    return found == carried_.end() ? clock{} : found->second;
}

clock& race_watch::ended(int source) {
    const auto number = static_cast<std::size_t>(source);
    if (ended_.size() <= number) ended_.resize(number + 1);
    return ended_[number];
}

}  // namespace laneway::checked
