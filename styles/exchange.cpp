#include "styles/exchange.hpp"

namespace laneway::styles {

namespace {

/// Gives a part of the buffers a name, which lasts as long as what is added to `names`.
template <class T>
symmetric_ref<T> register_segment(machine& all, const std::vector<exchange_buffers>& buffers,
                                  buffer<T> exchange_buffers::*part,
                                  std::vector<std::shared_ptr<const std::uint32_t>>& names) {
    std::vector<void*> bases;
    for (const auto& b : buffers) bases.push_back((b.*part).data());
    const std::uint64_t size = (buffers.front().*part).size();
    names.push_back(all.add_segment(bases, size * sizeof(T)));
    return {*names.back(), size};
}

}  // namespace

exchange::exchange(machine& all, std::uint64_t most, double timeout_seconds) {
    const auto pes = static_cast<std::uint64_t>(all.n_pes());
    for (int pe = 0; pe < all.n_pes(); ++pe) {
        const auto& owner = all.device(pe);
        buffers_.push_back(
            {{owner, most}, {owner, most}, {owner, most}, {owner, most}, {owner, most * pes}, {owner, 1}});
    }
    if (all.has_gpus()) {
        carrier_ = carry_between_gpus(all, buffers_, timeout_seconds);
    } else {
        carrier_ = carry_between_threads(buffers_);
    }
    ref_ = {register_segment(all, buffers_, &exchange_buffers::messages, names_),
            register_segment(all, buffers_, &exchange_buffers::owners, names_),
            register_segment(all, buffers_, &exchange_buffers::arrived, names_),
            register_segment(all, buffers_, &exchange_buffers::n_arrived, names_)};
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

}  // namespace laneway::styles
