#include "laneway/run/triggers.hpp"

#include <bit>

#include "laneway/base/error.hpp"
#include "laneway/run/resident_program.hpp"
#include "run/trigger_circles.hpp"

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
    if (options.outside > 1024) {
        throw usage_error("triggers: 0 to 1024 from outside, not " + std::to_string(options.outside));
    }
    refuse_without_atomics(machine, "triggers");
    return options;
}

/// "; tag 3 of PE 0 finds no room for what it starts", the first of them, where some do; or, `begun`, waits for that.
std::string without_end(const std::vector<std::vector<trigger_slot>>& slots, bool begun) {
    std::string text;
    std::size_t found = 0;
    for (std::size_t pe = 0; pe < slots.size(); ++pe) {
        for (std::size_t tag = 0; tag < slots[pe].size(); ++tag) {
            const trigger_slot& slot = slots[pe][tag];
            const std::uint32_t done = slot.pieces + (begun ? 1 : 0);
            if (slot.operation.starts() == 0 || slot.done != done || !trigger_word{slot.word}.open()) continue;
            if (found++ != 0) continue;
            text = "; " + name_of_tag(static_cast<int>(pe), static_cast<std::uint32_t>(tag)) +
                   (begun ? " waits for the end of what it has started" : " finds no room for what it starts");
        }
    }
    return found < 2 ? text : text + (begun ? ", as do " : ", nor do ") + std::to_string(found - 1) + " more";
}

}  // namespace

/// What lies on the devices.
struct trigger_memory::mirror {
    std::vector<std::vector<trigger_slot>> slots;
    std::vector<std::vector<trigger_counters>> counters;
    std::vector<std::vector<std::uint32_t>> shared;
    std::vector<std::vector<std::uint32_t>> left;
    std::vector<std::vector<trigger_cell>> cells;
};

trigger_memory::trigger_memory(machine& machine, const trigger_options& options)
    : machine_(machine), options_(checked_options(machine, options)), slots_(machine, options.tags),
      counters_(machine, 1), shared_(machine, trigger_ref::shared_words(options.tags)), left_(machine, options.tags),
      cells_(machine, std::uint64_t{options.outside} + options.chains), calls_(machine, options.tags), host_(machine),
      outside_(machine, options.outside, cells_, counters_, host_) {}

trigger_ref trigger_memory::ref() const {
    return {slots_.ref(), counters_.ref(), shared_.ref(),    left_.ref(),
            cells_.ref(), calls_.ref(),    options_.outside, options_.alone_bytes};
}

std::uint64_t trigger_memory::held_bytes() const {
    return slots_.size() * sizeof(trigger_slot) + sizeof(trigger_counters) + shared_.size() * sizeof(std::uint32_t) +
           left_.size() * sizeof(std::uint32_t) + cells_.size() * sizeof(trigger_cell) +
           calls_.size() * sizeof(std::uint64_t) + slots_.size() * item_words_ * sizeof(item_word);
}

void trigger_memory::keep_items(std::size_t words) {
    if (items_.has_value()) throw usage_error("triggers get what their operations start once: with()");
    items_.emplace(machine_, options_.tags * words);
    item_words_ = words;
}

void trigger_memory::refuse(int pe, std::uint32_t tag, const std::string& why) {
    throw usage_error(name_of_tag(pe, tag) + ": " + why);
}

void trigger_memory::must_exist(int pe, std::uint32_t tag, int named) const {
    if (named >= 0 && named < machine_.n_pes()) return;
    refuse(pe, tag, "no PE " + std::to_string(named) + "; the runtime has " + std::to_string(machine_.n_pes()));
}

void trigger_memory::must_have_tag(int pe, std::uint32_t tag) const {
    must_exist(pe, tag, pe);
    if (tag < options_.tags) return;
    refuse(pe, tag, "no such tag, where there are 0 to " + std::to_string(options_.tags - 1));
}

trigger_slot trigger_memory::slot(int pe, std::uint32_t tag) const {
    trigger_slot found;
    machine_.device(pe)->copy_out(&found, slots_.data(pe) + tag, sizeof found);
    return found;
}

void trigger_memory::must_be_possible(const preparation& p) const {
    const trigger_operation& op = p.operation;
    must_exist(p.pe, p.tag, p.pe);
    must_exist(p.pe, p.tag, op.pe());
    for (int i = 0; i < op.n_links(); ++i) must_exist(p.pe, p.tag, op.link(i).pe);
    must_have_tag(p.pe, p.tag);
    const std::string there = ", where there are 0 to " + std::to_string(options_.tags - 1);
    for (int i = 0; i < op.n_links(); ++i) {
        if (op.link(i).tag >= options_.tags) refuse(p, "it triggers tag " + std::to_string(op.link(i).tag) + there);
        if (op.link(i).n > trigger_word::max_count) refuse(p, "it triggers the next tag too often at once");
    }
    if (p.threshold == 0 || p.threshold > trigger_word::max_count) {
        refuse(p, "a threshold of 1 to " + std::to_string(trigger_word::max_count) + ", not " +
                      std::to_string(p.threshold));
    }
    if (!op.fits()) refuse(p, "elements that its arrays do not have, or more than two links");
}

void trigger_memory::prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op,
                             firing how, std::span<const std::byte> item) {
    const preparation p{pe, tag, threshold, op, how, {item.begin(), item.end()}};
    must_be_possible(p);
    if (host_.is_connected()) return prepare_in_session(p);
    replace_spent(p);
    prepared_.push_back(p);
}

/// Forgets the operation of a tag that has fired once for all; refuses where the tag has another one.
void trigger_memory::replace_spent(const preparation& by) {
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
        if (prepared_[i].pe != by.pe || prepared_[i].tag != by.tag) continue;
        if (i >= applied_ || !trigger_word{slot(by.pe, by.tag).word}.spent()) refuse_second(by);
        prepared_.erase(prepared_.begin() + static_cast<std::ptrdiff_t>(i));
        --applied_;
        return;
    }
}

bool trigger_memory::disarm(int pe, std::uint32_t tag) {
    must_have_tag(pe, tag);
    if (host_.is_connected()) return disarm_in_session(pe, tag);
    const auto mine = machine_.refuse_during_run();
    trigger_slot now = slot(pe, tag);
    const trigger_word word{now.word};
    const bool armed = word.threshold() != 0;
    if (armed && word.open()) return false;
    if (armed) {
        now.word = word.disarmed();
        now.pieces = 0;
        machine_.device(pe)->copy_in(slots_.data(pe) + tag, &now, sizeof now);
    }
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
        if (prepared_[i].pe != pe || prepared_[i].tag != tag) continue;
        const bool had = armed || i >= applied_;  // else a lane has disarmed it
        if (i < applied_) --applied_;
        prepared_.erase(prepared_.begin() + static_cast<std::ptrdiff_t>(i));
        return had;
    }
    return armed;
}

void trigger_memory::trigger(int pe, std::uint32_t tag, std::uint32_t n) {
    must_have_tag(pe, tag);
    if (n > trigger_word::max_count) refuse(pe, tag, "triggered too often at once");
    if (n > 0) host_.leave(pe, {host_trigger::trigger, tag, n});
}

std::size_t trigger_memory::reserve_outside(int pe, std::uint32_t tag, std::uint32_t n) {
    must_have_tag(pe, tag);
    if (n == 0 || n > trigger_word::max_count) refuse(pe, tag, "a trigger from outside counts once at least");
    return outside_.reserve(pe, tag, n);
}

void trigger_memory::clear() {
    if (host_.is_connected()) {
        throw usage_error("triggers: operations and counts are cleared before a session begins, or behind its end");
    }
    forget();
}

/// All operations and counts of all tags. Nothing runs on the devices.
void trigger_memory::forget() {
    outside_.forget_before();
    slots_.clear();
    counters_.clear();
    shared_.clear();
    left_.clear();
    cells_.clear();
    calls_.clear();
    outside_.forget();
    prepared_.clear();
    applied_ = 0;
}

void trigger_memory::refuse_second(const preparation& p) { refuse(p, "it has an operation already"); }

void trigger_memory::refuse_chain(const preparation& p, int to) const {
    refuse(p, "PE " + std::to_string(to) + " has " + std::to_string(options_.chains) +
                  " chains already; see trigger_options::chains");
}

void trigger_memory::refuse_count(const preparation& p, std::uint64_t count) {
    refuse(p, "triggered " + std::to_string(count) + " times already, and it fires once, at " +
                  std::to_string(p.threshold));
}

/// As trigger_preparation::prepare, for lanes that do not run yet.
void trigger_memory::apply(mirror& all, const preparation& p) const {
    const auto pe = static_cast<std::size_t>(p.pe);
    trigger_slot& slot = all.slots[pe][p.tag];
    const trigger_word before{slot.word};
    if (slot.pieces != 0 && !before.spent()) refuse_second(p);
    slot.word = before.disarmed();
    slot.keep_cells(p.operation);
    slot.hold(p.operation);
    for (int i = 0; i < p.operation.n_links(); ++i) {
        const trigger_link& link = p.operation.link(i);
        if (link.pe == p.pe || slot.cells[i] != 0) continue;
        const auto next = static_cast<std::size_t>(link.pe);
        const std::uint32_t number = all.counters[next][0].cells++;
        if (number >= options_.chains) refuse_chain(p, link.pe);
        all.cells[next][number] = {slot.fired, slot.fired, 0, link.tag, link.n};
        slot.cells[i] = options_.outside + number + 1;
    }
    slot.word += trigger_word::prepared(p.threshold, p.how);
    const trigger_word now{slot.word};
    if (now.fires_once() && now.count() > now.threshold()) refuse_count(p, now.count());
    if (!now.open()) return;
    trigger_counters& counters = all.counters[pe][0];
    ++counters.created;
    std::uint32_t& shared = all.shared[pe][p.tag / 32];
    if ((shared & trigger_ref::shared_bit(p.tag)) == 0) ++counters.shared;
    shared |= trigger_ref::shared_bit(p.tag);
    all.left[pe][p.tag] = slot.pieces;
}

void trigger_memory::begin(machine& machine) {
    if (&machine != &machine_) throw usage_error("triggers belong to the runtime that has made them");
    // What a failed run has left is not known. A session that goes on has failed nowhere, and its devices are free.
    if (open_ && !in_session_) {
        auto again = std::move(prepared_);
        forget();
        prepared_ = std::move(again);
    }
    in_session_ = false;
    if (applied_ < prepared_.size()) apply_new();
    outside_.begin();
    open_ = true;
}

void trigger_memory::apply_new() {
    mirror all;
    const int n = machine_.n_pes();
    const auto chain_cells = [&](int pe) { return cells_.data(pe) + options_.outside; };
    for (int pe = 0; pe < n; ++pe) {
        all.slots.push_back(slots_.copy_out(pe));
        all.counters.push_back(counters_.copy_out(pe));
        all.shared.push_back(shared_.copy_out(pe));
        all.left.push_back(left_.copy_out(pe));
        machine_.device(pe)->copy_out(all.cells.emplace_back(options_.chains).data(), chain_cells(pe),
                                      options_.chains * sizeof(trigger_cell));
    }
    for (std::size_t i = applied_; i < prepared_.size(); ++i) {
        const preparation& p = prepared_[i];
        apply(all, p);
        if (p.item.empty()) continue;
        machine_.device(p.pe)->copy_in(items_->data(p.pe) + p.tag * item_words_, p.item.data(), p.item.size());
    }
    for (int pe = 0; pe < n; ++pe) {
        const auto p = static_cast<std::size_t>(pe);
        slots_.copy_in(pe, all.slots[p]);
        counters_.copy_in(pe, all.counters[p]);
        shared_.copy_in(pe, all.shared[p]);
        left_.copy_in(pe, all.left[p]);
        machine_.device(pe)->copy_in(chain_cells(pe), all.cells[p].data(), options_.chains * sizeof(trigger_cell));
    }
    applied_ = prepared_.size();
}

void trigger_memory::end(run_report& report) {
    open_ = false;
    add_to(report);
}

void trigger_memory::add_to(run_report& report) const {
    const auto found = waiting();
    report.waiting_tags.insert(report.waiting_tags.end(), found.begin(), found.end());
}

void trigger_memory::add_to(epoch_report& report) const {
    const auto found = host_.waiting();
    report.waiting_tags.insert(report.waiting_tags.end(), found.begin(), found.end());
    report.waiting_tags_left_out += host_.left_out();
}

std::string trigger_memory::account() const {
    std::string text = outside_.account();
    std::vector<std::vector<trigger_slot>> slots;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) slots.push_back(slots_.copy_out(pe));
    return text + without_end(slots, false) + without_end(slots, true) + circles_without_end(slots);
}

void trigger_memory::attach(machine& machine, const comm_plan&) {
    begin(machine);
    host_.attach(item_words_ * sizeof(item_word));
    in_session_ = true;
}

void trigger_memory::connect(resident_program& program) {
    host_.connect(program);
    outside_.connect();
}

void trigger_memory::disconnect(bool ended_well) noexcept {
    host_.disconnect();
    host_.tell_what_is_left();
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
            if (word.is_passive(slots[tag].fired)) continue;
            found.push_back({pe, tag, word.count(), word.threshold(), slots[tag].fired});
        }
    }
    return found;
}

}  // namespace laneway
