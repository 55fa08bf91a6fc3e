#include "laneway/comm/comm_resources.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/transport/transport.hpp"

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

}  // namespace

comm_resources::comm_resources(machine& machine, const options& options, const comm_plan& plan,
                               const run_deadline& until)
    : machine_(machine), options_(options), plan_(plan), n_(plan.n_pes()), requests_(machine, options, plan, until) {
    if (plan.needs.replies) replies_.emplace(machine, options, plan, until);
    for (std::size_t p = 0; p < n_; ++p) {
        work_.emplace_back(device_of(p), 1);
        finished_.emplace_back(device_of(p), 1);
    }
    if (plan.needs.answer_words > 0) {
        const auto bytes = [&](int reader) { return plan_.answer_bytes(static_cast<std::size_t>(reader)); };
        answers_.allocate(machine_, bytes, until);
    }
    accounts_.allocate(
        machine_, [](int) { return barrier_ref::bytes; }, until);
    if (plan.needs.forward_bytes > 0) make_forward_queues();
    make_termination();
}

void comm_resources::pair_words::allocate(machine& machine, const std::function<std::size_t(int reader)>& bytes,
                                          const run_deadline& until) {
    const auto n = static_cast<std::size_t>(machine.n_pes());
    std::vector<std::vector<std::uint64_t*>> written(n, std::vector<std::uint64_t*>(n));
    for (int reader = 0; reader < machine.n_pes(); ++reader) {
        (void)until.left();
        const auto parts = allocate_for_reader(
            machine, reader, [&](int) { return bytes(reader); }, memory);
        std::vector<const std::uint64_t*> read(n);
        for (std::size_t writer = 0; writer < n; ++writer) {
            written[writer][static_cast<std::size_t>(reader)] = reinterpret_cast<std::uint64_t*>(parts[writer]);
            read[writer] = reinterpret_cast<const std::uint64_t*>(parts[writer]);
        }
        from.emplace_back(machine.device(reader), n).copy_in(read);
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
    const auto& coordinator = machine_.device(0);
    commands_.resize(n_);
    termination_replies_.resize(n_);
    std::vector<std::uint64_t*> commands(n_);
    std::vector<const std::uint64_t*> replies(n_);
    for (std::size_t p = 1; p < n_; ++p) {
        const auto& device = device_of(p);
        commands_[p] = find_transport(*coordinator, *device).place(coordinator, device, plan_.command_bytes());
        termination_replies_[p] = find_transport(*device, *coordinator).place(device, coordinator, plan_.reply_bytes());
        commands[p] = reinterpret_cast<std::uint64_t*>(commands_[p].get());
        replies[p] = reinterpret_cast<const std::uint64_t*>(termination_replies_[p].get());
    }
    command_table_ = buffer<std::uint64_t*>(coordinator, n_);
    command_table_.copy_in(commands);
    reply_table_ = buffer<const std::uint64_t*>(coordinator, n_);
    reply_table_.copy_in(replies);
    samples_ = buffer<termination_sample>(coordinator, plan_.samples);
    n_samples_ = buffer<std::uint64_t>(coordinator, 1);
    rises_ = buffer<std::uint64_t>(coordinator, 1);
    if (options_.meter) {
        const auto words = allocate_host_visible(coordinator, sizeof(run_meter::reading));
        seen_ = {words, reinterpret_cast<std::uint64_t*>(words.get())};
    }
}

void comm_resources::reset() {
    requests_.reset();
    if (replies_) replies_->reset();
    for (std::size_t p = 0; p < n_; ++p) {
        work_[p].fill_bytes(0);
        if (!forward_slots_.empty()) {
            forward_ends_[p].fill_bytes(0);
            forward_slots_[p].fill_bytes(0);
        }
    }
    for (const pair_words* pairs : {&answers_, &accounts_}) {
        for (const auto& r : pairs->memory) machine_.device(r.reader)->fill(r.memory.get(), 0, r.bytes);
    }
    reset_termination();
}

void comm_resources::reset_termination() {
    for (std::size_t p = 0; p < n_; ++p) {
        finished_[p].fill_bytes(0);
        if (p == 0) continue;
        device_of(p)->fill(commands_[p].get(), 0, plan_.command_bytes());
        device_of(0)->fill(termination_replies_[p].get(), 0, plan_.reply_bytes());
    }
    n_samples_.fill_bytes(0);
    rises_.fill_bytes(0);
    if (!seen_) return;
    std::fill_n(seen_.get(), 2, 0);
    options_.meter->follow(seen_);
}

links_ref comm_resources::links(int pe) const {
    links_ref ref = requests_.links(pe);
    ref.work = work_[static_cast<std::size_t>(pe)].data();
    ref.served = &ref.work->served;
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
    if (answers_.memory.empty()) return {};
    const auto p = static_cast<std::size_t>(pe);
    return {answers_.to[p].data(), answers_.from[p].data(), plan_.needs.answer_words};
}

barrier_ref comm_resources::barriers(int pe) const {
    const auto p = static_cast<std::size_t>(pe);
    return {accounts_.to[p].data(), accounts_.from[p].data()};
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
    ref.commands = command_table_.data();
    ref.replies = reply_table_.data();
    ref.command = reinterpret_cast<const std::uint64_t*>(commands_[p].get());
    ref.reply = reinterpret_cast<std::uint64_t*>(termination_replies_[p].get());
    ref.finished = finished_[p].data();
    ref.samples = samples_.data();
    ref.n_samples = n_samples_.data();
    ref.rises = rises_.data();
    ref.max_samples = options_.progress_samples / 2 * 2;
    ref.seen = seen_.get();
    ref.policy = policy;
    return ref;
}

run_report comm_resources::report(double seconds) const {
    run_report report;
    report.devices = machine_.names();
    report.run_seconds = seconds;
    std::uint64_t replies_served = 0, replies_carried = 0;
    for (std::size_t p = 0; p < n_; ++p) {
        const work_counters work = work_[p].copy_out()[0];
        report.posted += work.posted;
        report.direct += work.direct;
        report.served += work.served;
        report.replies += work.replied;
        report.items += work.items;
        replies_served += work.replies_served;
        report.buffer_bytes.push_back(plan_.bytes(p));
    }
    report.traffic_matrix = requests_.traffic_matrix();
    for (const auto& t : report.traffic_matrix) report.carried += t.messages;
    audit("messages", report.posted, report.direct, report.carried, report.served);
    if (replies_) {
        const auto replies = replies_->traffic_matrix();
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
    report.rises = rises_.copy_out()[0];
    const auto samples = samples_.copy_out();
    const std::uint64_t n = n_samples_.copy_out()[0];
    for (std::size_t i = 0; i < n; ++i) {
        report.progress.push_back({samples[i].time_ns, samples[i].served, samples[i].open});
    }
    return report;
}

std::string comm_resources::ring_fills() const {
    return requests_.fills("ring") + (replies_ ? replies_->fills("ring of replies") : std::string{});
}

comm_resources::~comm_resources() = default;

}  // namespace laneway
