#include "laneway/run/triggers.hpp"

#include <bit>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

const trigger_options& checked_options(const machine& machine, const trigger_options& options) {
    if (options.tags == 0 || options.tags > trigger_ref::max_tags) {
        throw usage_error("triggers: 1 to " + std::to_string(trigger_ref::max_tags) + " tags, not " +
                          std::to_string(options.tags));
    }
    if (options.chains == 0 || options.chains > trigger_ref::max_tags) {
        throw usage_error("triggers: 1 to " + std::to_string(trigger_ref::max_tags) + " chains, not " +
                          std::to_string(options.chains));
    }
    refuse_without_atomics(machine, "triggers");
    return options;
}

}  // namespace

std::string waiting_tag::text() const {
    const std::string name = "tag " + std::to_string(tag) + " of PE " + std::to_string(pe) + ": ";
    if (threshold == 0) return name + "not prepared, triggered " + std::to_string(count) + " times";
    return name + std::to_string(count) + " of " + std::to_string(threshold) + " triggers, fired " +
           std::to_string(fired) + " times";
}

/// What lies on the devices.
struct trigger_memory::mirror {
    std::vector<std::vector<trigger_slot>> slots;
    std::vector<std::vector<trigger_counters>> counters;
    std::vector<std::vector<std::uint64_t>> queue;
    std::vector<std::vector<trigger_cell>> cells;
};

trigger_memory::trigger_memory(machine& machine, const trigger_options& options)
    : machine_(machine), options_(checked_options(machine, options)), slots_(machine, options.tags),
      counters_(machine, 1), queue_(machine, std::uint64_t{options.tags} * trigger_slot::max_pieces),
      cells_(machine, options.chains) {}

trigger_ref trigger_memory::ref() const {
    return {slots_.ref(), counters_.ref(), queue_.ref(), cells_.ref(), options_.alone_bytes};
}

std::uint64_t trigger_memory::held_bytes() const {
    return slots_.size() * sizeof(trigger_slot) + sizeof(trigger_counters) + queue_.size() * sizeof(std::uint64_t) +
           cells_.size() * sizeof(trigger_cell);
}

void trigger_memory::refuse(const preparation& p, const std::string& why) const {
    throw usage_error("tag " + std::to_string(p.tag) + " of PE " + std::to_string(p.pe) + ": " + why);
}

void trigger_memory::prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op,
                             firing how) {
    const preparation p{pe, tag, threshold, op, how};
    const auto must_exist = [&](int named) {
        if (named >= 0 && named < machine_.n_pes()) return;
        refuse(p, "no PE " + std::to_string(named) + "; the runtime has " + std::to_string(machine_.n_pes()));
    };
    must_exist(pe);
    must_exist(op.pe());
    for (int i = 0; i < op.n_links(); ++i) must_exist(op.link(i).pe);
    const std::string there = ", where there are 0 to " + std::to_string(options_.tags - 1);
    if (tag >= options_.tags) refuse(p, "no such tag" + there);
    for (int i = 0; i < op.n_links(); ++i) {
        if (op.link(i).tag >= options_.tags) refuse(p, "it triggers tag " + std::to_string(op.link(i).tag) + there);
        if (op.link(i).n > trigger_word::max_count) refuse(p, "it triggers the next tag too often at once");
    }
    if (threshold == 0 || threshold > trigger_word::max_count) {
        refuse(p,
               "a threshold of 1 to " + std::to_string(trigger_word::max_count) + ", not " + std::to_string(threshold));
    }
    if (!op.fits()) refuse(p, "elements that its arrays do not have, or more than two links");
    for (const auto& other : prepared_) {
        if (other.pe == pe && other.tag == tag) refuse(p, "it has an operation already");
    }
    prepared_.push_back(p);
}

void trigger_memory::clear() {
    slots_.clear();
    counters_.clear();
    queue_.clear();
    cells_.clear();
    prepared_.clear();
    applied_ = 0;
}

/// As trigger_engine::prepare, for lanes that do not run yet.
void trigger_memory::apply(mirror& all, const preparation& p) const {
    const auto pe = static_cast<std::size_t>(p.pe);
    trigger_slot& slot = all.slots[pe][p.tag];
    if (slot.pieces != 0) refuse(p, "it has an operation already");
    slot.hold(p.operation);
    for (int i = 0; i < p.operation.n_links(); ++i) {
        const trigger_link& link = p.operation.link(i);
        if (link.pe == p.pe) continue;
        const auto next = static_cast<std::size_t>(link.pe);
        slot.cells[i] = all.counters[next][0].cells++;
        if (slot.cells[i] >= options_.chains) {
            refuse(p, "PE " + std::to_string(next) + " has " + std::to_string(options_.chains) +
                          " chains already; see trigger_options::chains");
        }
        trigger_cell& cell = all.cells[next][slot.cells[i]];
        cell.tag = link.tag;
        cell.n = link.n;
    }
    slot.word += trigger_word::prepared(p.threshold, p.how);
    const trigger_word now{slot.word};
    if (now.fires_once() && now.count() > now.threshold()) {
        refuse(p, "triggered " + std::to_string(now.count()) + " times already, and it fires once, at " +
                      std::to_string(now.threshold()));
    }
    if (!now.open()) return;
    trigger_counters& counters = all.counters[pe][0];
    ++counters.created;
    for (std::uint32_t piece = 0; piece < slot.pieces; ++piece) {
        const std::uint64_t place = counters.pushed++;
        all.queue[pe][place % all.queue[pe].size()] = ref().entry(place, p.tag, piece);
    }
}

void trigger_memory::begin(machine& machine) {
    if (&machine != &machine_) throw usage_error("triggers belong to the runtime that has made them");
    // What a failed run has left is not known. A session that goes on has failed nowhere, and its devices are free.
    if (open_ && !in_session_) {
        auto again = std::move(prepared_);
        clear();
        prepared_ = std::move(again);
    }
    in_session_ = false;
    if (applied_ < prepared_.size()) {
        mirror all;
        const int n = machine.n_pes();
        for (int pe = 0; pe < n; ++pe) {
            all.slots.push_back(slots_.copy_out(pe));
            all.counters.push_back(counters_.copy_out(pe));
            all.queue.push_back(queue_.copy_out(pe));
            all.cells.push_back(cells_.copy_out(pe));
        }
        for (std::size_t i = applied_; i < prepared_.size(); ++i) apply(all, prepared_[i]);
        for (int pe = 0; pe < n; ++pe) {
            const auto p = static_cast<std::size_t>(pe);
            slots_.copy_in(pe, all.slots[p]);
            counters_.copy_in(pe, all.counters[p]);
            queue_.copy_in(pe, all.queue[p]);
            cells_.copy_in(pe, all.cells[p]);
        }
        applied_ = prepared_.size();
    }
    open_ = true;
}

void trigger_memory::disconnect(bool ended_well) noexcept {
    if (!ended_well) {
        open_ = true;
    } else if (in_session_) {  // or it is over since long, and a run has come between
        open_ = false;
    }
    in_session_ = false;
}

std::vector<waiting_tag> trigger_memory::waiting() const {
    std::vector<waiting_tag> found;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto slots = slots_.copy_out(pe);
        for (std::uint32_t tag = 0; tag < slots.size(); ++tag) {
            const trigger_word word{slots[tag].word};
            const bool spent = word.fires_once() && slots[tag].fired != 0;
            const bool untouched = word.threshold() == 0 && word.count() == 0;
            const bool at_rest = word.count() == 0 && slots[tag].fired != 0;
            if (spent || untouched || at_rest) continue;
            found.push_back({pe, tag, word.count(), word.threshold(), slots[tag].fired});
        }
    }
    return found;
}

}  // namespace laneway
