#include "laneway/comm/comm_resources.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::size_t head_at = destructive_bytes / sizeof(std::uint64_t);

void audit(const std::string& what, std::uint64_t posted, std::uint64_t direct, std::uint64_t carried,
           std::uint64_t served) {
    if (posted == direct + carried && carried == served) return;
    throw device_fault("audit mismatch: " + std::to_string(posted) + " " + what + " posted, " + std::to_string(direct) +
                       " served directly, " + std::to_string(carried) + " carried, " + std::to_string(served) +
                       " served");
}

std::vector<traffic> since(std::vector<traffic> now, const std::vector<traffic>& before) {
    for (std::size_t i = 0; i < now.size(); ++i) {
        now[i].messages -= before[i].messages;
        now[i].chunks -= before[i].chunks;
        now[i].bytes -= before[i].bytes;
    }
    return now;
}

}  // namespace

comm_resources::comm_resources(machine& machine, const options& options, const comm_plan& plan,
                               const run_deadline& until)
    : machine_(machine), options_(options), plan_(plan), n_(plan.n_pes()), proxy_(proxy::of(machine)),
      requests_(machine, options, plan, proxy_, until), answers_{{machine, proxy_}, {}, {}, {}},
      accounts_{{machine, proxy_}, {}, {}, {}}, termination_words_(machine, proxy_) {
    if (plan.needs.replies) replies_.emplace(machine, options, plan, proxy_, until);
    for (std::size_t p = 0; p < n_; ++p) {
        work_.emplace_back(device_of(p), 1);
        finished_.emplace_back(device_of(p), 1);
    }
    if (plan.needs.answer_words > 0) {
        const auto bytes = [&](int reader) { return plan_.answer_bytes(static_cast<std::size_t>(reader)); };
        answers_.allocate(machine_, bytes, until);
    }
    accounts_.allocate(
        machine_, [](int) { return barrier_ref::bytes; }, until, pe_with(options_, injected_fault::mute_barrier));
    if (plan.needs.forward_bytes > 0) make_forward_queues();
    make_termination();
    reported_ = nothing();
}

void comm_resources::pair_words::allocate(machine& machine, const std::function<std::size_t(int reader)>& bytes,
                                          const run_deadline& until, int mute) {
    const auto n = static_cast<std::size_t>(machine.n_pes());
    std::vector<std::vector<word_sender>> written(n, std::vector<word_sender>(n));
    for (int reader = 0; reader < machine.n_pes(); ++reader) {
        (void)until.left();
        const auto parts = memory.add_words(reader, [&](int) { return bytes(reader); });
        std::vector<word_receiver> read(n);
        for (std::size_t writer = 0; writer < n; ++writer) {
            read[writer] = word_receiver(parts[writer].read);
            written[writer][static_cast<std::size_t>(reader)] = word_sender(parts[writer].written);
        }
        from.emplace_back(machine.device(reader), n).copy_in(read);
    }
    if (mute >= 0) {
        std::size_t most = 0;
        for (int reader = 0; reader < machine.n_pes(); ++reader) most = std::max(most, bytes(reader));
        unheard = buffer<std::byte>(machine.device(mute), most);
        std::fill_n(written[static_cast<std::size_t>(mute)].begin(), n, word_sender(unheard.data()));
    }
    for (int writer = 0; writer < machine.n_pes(); ++writer) {
        to.emplace_back(machine.device(writer), n).copy_in(written[static_cast<std::size_t>(writer)]);
    }
}

void comm_resources::make_forward_queues() {
    for (std::size_t p = 0; p < n_; ++p) {
        forward_ends_.emplace_back(device_of(p), 2 * head_at);
        forward_slots_.emplace_back(device_of(p), plan_.forward_bytes());
    }
}

void comm_resources::make_termination() {
    commands_.resize(n_);
    termination_replies_.resize(n_);
    const int mute = pe_with(options_, injected_fault::mute_termination);
    if (mute >= 0) {
        unheard_ = buffer<std::byte>(machine_.device(mute), std::max(plan_.command_bytes(), plan_.reply_bytes()));
    }
    for (int pe = 0; pe < machine_.n_pes(); ++pe) make_termination_words(pe);
    for (std::size_t p = 0; p < n_; ++p) make_children(p, mute == static_cast<int>(p));
    const auto& coordinator = machine_.device(0);
    samples_ = buffer<termination_sample>(coordinator, plan_.samples);
    outcome_ = buffer<termination_outcome>(coordinator, 1);
    if (options_.meter) {
        const auto words = allocate_host_visible(coordinator, sizeof(run_meter::reading));
        seen_ = {words, reinterpret_cast<std::uint64_t*>(words.get())};
    }
}

void comm_resources::make_termination_words(int pe) {
    const int first = termination_tree::first_child(pe);
    const int behind = first + termination_tree::children(pe, machine_.n_pes());
    const auto parts = termination_words_.add_words(pe, [&](int writer) -> std::size_t {
        if (pe != 0 && writer == termination_tree::parent(pe)) return comm_plan::command_bytes();
        return writer >= first && writer < behind ? comm_plan::reply_bytes() : 0;
    });
    if (pe != 0) {
        commands_[static_cast<std::size_t>(pe)] = parts[static_cast<std::size_t>(termination_tree::parent(pe))];
    }
    for (auto child = static_cast<std::size_t>(first); child < static_cast<std::size_t>(behind); ++child) {
        termination_replies_[child] = parts[child];
    }
}

void comm_resources::make_children(std::size_t p, bool mute) {
    const auto pe = static_cast<int>(p);
    const int children = termination_tree::children(pe, static_cast<int>(n_));
    command_tables_.emplace_back();
    reply_tables_.emplace_back();
    if (children == 0) return;
    const auto& device = device_of(p);
    std::vector<word_sender> commands;
    std::vector<word_receiver> replies;
    for (int i = 0; i < children; ++i) {
        const auto c = static_cast<std::size_t>(termination_tree::first_child(pe) + i);
        commands.emplace_back(mute ? unheard_.data() : commands_[c].written);
        replies.emplace_back(termination_replies_[c].read);
    }
    command_tables_[p] = buffer<word_sender>(device, commands.size());
    command_tables_[p].copy_in(commands);
    reply_tables_[p] = buffer<word_receiver>(device, replies.size());
    reply_tables_[p].copy_in(replies);
}

void comm_resources::commit_pending() { (void)commit_pending(count_work()); }

termination_outcome comm_resources::commit_pending(const std::vector<work_counters>& now) {
    const termination_outcome outcome = outcome_.copy_out()[0];
    before_.rounds = outcome.rounds;
    if (++program_ == 0) program_ = 1;  // 0 is what memory has that no program has ended in
    for (const work_counters& work : now) calls_ = std::max(calls_, work.calls);
    // The words of lanes that call now and then must not get so old that their tags come round.
    constexpr std::uint64_t old = std::uint64_t{1} << 30;
    if (calls_ - calls_cleared_ >= old) clear_answers();
    return outcome;
}

std::vector<work_counters> comm_resources::count_work() const {
    std::vector<work_counters> now;
    for (const auto& work : work_) now.push_back(work.copy_out()[0]);
    return now;
}

void comm_resources::clear() {
    requests_.clear();
    if (replies_) replies_->clear();
    for (std::size_t p = 0; p < n_; ++p) {
        work_[p].fill_bytes(0);
        finished_[p].fill_bytes(0);
        if (!forward_slots_.empty()) {
            forward_ends_[p].fill_bytes(0);
            forward_slots_[p].fill_bytes(0);
        }
    }
    termination_words_.clear();
    accounts_.memory.clear();
    clear_answers();
    reported_ = nothing();
    before_ = {};
    calls_ = calls_cleared_ = 0;
}

void comm_resources::clear_answers() {
    answers_.memory.clear();
    calls_cleared_ = calls_;
}

void comm_resources::follow_meter() {
    if (!seen_) return;
    std::fill_n(seen_.get(), 2, 0);
    options_.meter->follow(seen_);
}

comm_resources::totals comm_resources::nothing() const {
    const std::vector<traffic> none(n_ * n_);
    return {std::vector<work_counters>(n_), none, replies_ ? none : std::vector<traffic>{}};
}

comm_resources::totals comm_resources::count() const {
    totals now;
    now.work = count_work();
    now.requests = requests_.traffic_matrix();
    if (replies_) now.replies = replies_->traffic_matrix();
    return now;
}

work_before comm_resources::totals::of(std::size_t pe) const {
    work_before before;
    const work_counters& mine = work[pe];
    before.served = mine.served + mine.replies_served;
    for (const auto* rings : {&requests, &replies}) {
        const std::size_t n = work.size();
        for (std::size_t to = 0; to < n && !rings->empty(); ++to) {
            const traffic& sent = (*rings)[pe * n + to];
            before.sent += sent.messages;
            before.chunks += sent.chunks;
            before.bytes += sent.bytes;
        }
    }
    before.made = before.sent + mine.deferred + mine.replied;
    before.completed = mine.completed;
    before.returned = mine.returned;
    before.released = mine.released;
    before.barrier_rounds = mine.barrier_rounds;
    return before;
}

links_ref comm_resources::links(int pe) const {
    links_ref ref = requests_.links(pe);
    ref.work = work_[static_cast<std::size_t>(pe)].data();
    ref.served = &ref.work->served;
    ref.before = reported_.of(static_cast<std::size_t>(pe));
    return ref;
}

links_ref comm_resources::replies(int pe) const {
    if (!replies_) return {};
    links_ref ref = replies_->links(pe);
    ref.work = work_[static_cast<std::size_t>(pe)].data();
    ref.served = &ref.work->replies_served;
    return ref;
}

answers_ref comm_resources::answers(int pe) const {
    if (answers_.to.empty()) return {};
    const auto p = static_cast<std::size_t>(pe);
    return {answers_.to[p].data(), answers_.from[p].data(), plan_.needs.answer_words, calls_};
}

barrier_ref comm_resources::barriers(int pe) const {
    const auto p = static_cast<std::size_t>(pe);
    return {accounts_.to[p].data(), accounts_.from[p].data()};
}

pe_resources comm_resources::of(int pe, const threshold_policy& policy, const epoch_words& epochs) const {
    pe_resources made{links(pe), replies(pe), answers(pe), forward_queue(pe), termination(pe, policy), barriers(pe)};
    made.termination.epochs = epochs;
    return made;
}

forward_queue_ref comm_resources::forward_queue(int pe) const {
    if (forward_slots_.empty()) return {};
    const auto p = static_cast<std::size_t>(pe);
    forward_queue_ref ref;
    ref.tail = forward_ends_[p].data();
    ref.head = forward_ends_[p].data() + head_at;
    ref.count = &work_[p].data()->deferred;
    ref.slots = forward_slots_[p].data();
    ref.capacity = plan_.forward_slots;
    ref.slot_bytes = forward_queue_ref::bytes_of_slot(plan_.needs.forward_bytes);
    return ref;
}

termination_ref comm_resources::termination(int pe, const threshold_policy& policy) const {
    const auto p = static_cast<std::size_t>(pe);
    termination_ref ref;
    ref.commands = command_tables_[p].data();
    ref.replies = reply_tables_[p].data();
    ref.children = termination_tree::children(pe, static_cast<int>(n_));
    ref.command = word_receiver(commands_[p].read);
    const bool mute = pe == pe_with(options_, injected_fault::mute_termination);
    ref.reply = word_sender(mute ? unheard_.data() : termination_replies_[p].written);
    ref.finished = finished_[p].data();
    ref.samples = samples_.data();
    ref.outcome = outcome_.data();
    ref.program = program_;
    ref.before = before_;
    ref.max_samples = options_.progress_samples / 2 * 2;
    ref.seen = seen_.get();
    ref.policy = policy;
    return ref;
}

run_report comm_resources::report(double seconds) {
    const totals now = count();
    const termination_outcome outcome = commit_pending(now.work);
    run_report report;
    report.devices = machine_.names();
    report.run_seconds = seconds;
    for (std::size_t p = 0; p < n_; ++p) {
        report.buffer_bytes.push_back(plan_.bytes(p));
        report.device_bytes.push_back(machine_.device(static_cast<int>(p))->peak_bytes());
    }
    account(now, report);
    report.rises = outcome.rises;
    if (outcome.samples != 0) {
        auto samples = samples_.copy_out();
        samples.resize(outcome.samples);
        for (const auto& at : samples) report.progress.push_back({at.time_ns, at.served, at.open});
    }
    reported_ = now;
    before_.completed = before_.served = 0;
    for (const work_counters& work : now.work) {
        before_.served += work.served + work.replies_served;
        before_.completed += work.completed + work.forwarded + work.served + work.replies_served;
    }
    return report;
}

void comm_resources::account(const totals& now, run_report& report) const {
    std::uint64_t replies_served = 0;
    for (std::size_t p = 0; p < n_; ++p) {
        const work_counters &work = now.work[p], &old = reported_.work[p];
        report.posted += work.posted - old.posted;
        report.direct += work.direct - old.direct;
        report.served += work.served - old.served;
        report.replies += work.replied - old.replied;
        report.items += work.items - old.items;
        replies_served += work.replies_served - old.replies_served;
    }
    report.traffic_matrix = since(now.requests, reported_.requests);
    for (const auto& t : report.traffic_matrix) report.carried += t.messages;
    audit("messages", report.posted, report.direct, report.carried, report.served);
    if (!replies_) return;
    std::uint64_t replies_carried = 0;
    const auto replies = since(now.replies, reported_.replies);
    for (std::size_t i = 0; i < replies.size(); ++i) {
        replies_carried += replies[i].messages;
        report.traffic_matrix[i].messages += replies[i].messages;
        report.traffic_matrix[i].chunks += replies[i].chunks;
        report.traffic_matrix[i].bytes += replies[i].bytes;
    }
    audit("replies", report.replies, 0, replies_carried, replies_served);
    report.posted += report.replies;
    report.carried += replies_carried;
    report.served += replies_served;
}

std::string comm_resources::ring_fills() const {
    std::string text = requests_.fills("ring") + (replies_ ? replies_->fills("ring of replies") : std::string{});
    for (std::size_t p = 0; p < forward_ends_.size(); ++p) {
        const auto ends = forward_ends_[p].copy_out();
        const std::uint64_t used = ends[0] - ends[head_at];
        if (used == 0) continue;
        text += "; forward queue of PE " + std::to_string(p) + ": " + std::to_string(used) + " of " +
                std::to_string(plan_.forward_slots) + " slots in use";
    }
    return text;
}

comm_resources::~comm_resources() = default;

}  // namespace laneway
