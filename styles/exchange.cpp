#include "styles/exchange.hpp"

#include <algorithm>
#include <thread>

namespace laneway::styles {

namespace {

/// A thread a PE sorts by counting and copies.
class host_carrier final : public exchange_carrier {
public:
    explicit host_carrier(std::vector<exchange_buffers>& buffers) : buffers_(buffers), pes_(buffers.size()) {}

    std::vector<std::uint64_t> sort(std::uint64_t count) override {
        std::vector<std::uint64_t> counts(pes_ * pes_);
        on_every_pe([&](std::size_t pe) {
            const exchange_buffers& b = buffers_[pe];
            std::vector<std::uint64_t> ends(pes_ + 2);  // of each owner's messages, shifted by one
            for (std::uint64_t i = 0; i < count; ++i) ++ends[b.owners.data()[i] + 1u];
            std::copy_n(ends.begin() + 1, pes_, counts.begin() + static_cast<std::ptrdiff_t>(pe * pes_));
            for (std::size_t p = 1; p < ends.size(); ++p) ends[p] += ends[p - 1];
            for (std::uint64_t i = 0; i < count; ++i) {
                b.sorted.data()[ends[b.owners.data()[i]]++] = b.messages.data()[i];
            }
        });
        return counts;
    }

    void move(const exchange_plan& plan) override {
        on_every_pe([&](std::size_t from) {
            for (std::size_t to = 0; to < pes_; ++to) {
                const std::size_t pair = from * pes_ + to;
                std::copy_n(buffers_[from].sorted.data() + plan.starts[pair], plan.counts[pair],
                            buffers_[to].arrived.data() + plan.places[pair]);
            }
        });
    }

private:
    template <class Body>
    void on_every_pe(Body&& body) const {
        std::vector<std::jthread> threads;
        for (std::size_t pe = 0; pe < pes_; ++pe) threads.emplace_back([&body, pe] { body(pe); });
    }

    std::vector<exchange_buffers>& buffers_;
    std::size_t pes_;
};

template <class T>
symmetric_ref<T> register_segment(machine& all, const std::vector<exchange_buffers>& buffers,
                                  buffer<T> exchange_buffers::*part) {
    std::vector<void*> bases;
    for (const auto& b : buffers) bases.push_back((b.*part).data());
    const std::uint64_t size = (buffers.front().*part).size();
    return {all.add_segment(bases, size * sizeof(T)), size};
}

}  // namespace

exchange::exchange(machine& all, std::uint64_t most) {
    const auto pes = static_cast<std::uint64_t>(all.n_pes());
    for (int pe = 0; pe < all.n_pes(); ++pe) {
        const auto& owner = all.device(pe);
        buffers_.push_back(
            {{owner, most}, {owner, most}, {owner, most}, {owner, most}, {owner, most * pes}, {owner, 1}});
    }
    if (all.has_gpus()) {
        carrier_ = carry_between_gpus(all, buffers_);
    } else {
        carrier_ = std::make_unique<host_carrier>(buffers_);
    }
    ref_ = {register_segment(all, buffers_, &exchange_buffers::messages),
            register_segment(all, buffers_, &exchange_buffers::owners),
            register_segment(all, buffers_, &exchange_buffers::arrived),
            register_segment(all, buffers_, &exchange_buffers::n_arrived)};
}

void exchange::run(std::uint64_t count) {
    const std::size_t pes = buffers_.size();
    exchange_plan plan{carrier_->sort(count), {}, {}};
    plan.starts.resize(pes * pes);
    plan.places.resize(pes * pes);
    std::vector<std::uint64_t> arriving(pes);
    for (std::size_t from = 0; from < pes; ++from) {
        std::uint64_t start = 0;
        for (std::size_t to = 0; to < pes; ++to) {
            const std::size_t pair = from * pes + to;
            plan.starts[pair] = start;
            plan.places[pair] = arriving[to];
            start += plan.counts[pair];
            arriving[to] += plan.counts[pair];
        }
    }
    carrier_->move(plan);
    for (std::size_t pe = 0; pe < pes; ++pe) buffers_[pe].n_arrived.copy_in(&arriving[pe], 1);
}

#if !LANEWAY_HAS_CUDA
std::unique_ptr<exchange_carrier> carry_between_gpus(machine&, std::vector<exchange_buffers>&) {
    throw usage_error("this build has no support for GPUs");
}
#endif

}  // namespace laneway::styles
