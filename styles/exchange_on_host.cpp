// The exchange between CPU devices.
#include <algorithm>

#include "laneway/base/in_threads.hpp"
#include "styles/exchange.hpp"

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
        in_threads(equal_cuts(pes_, pes_), [&](std::uint64_t pe, std::uint64_t, keep_going&) { body(pe); });
    }

    std::vector<exchange_buffers>& buffers_;
    std::size_t pes_;
};

}  // namespace

std::unique_ptr<exchange_carrier> carry_between_threads(std::vector<exchange_buffers>& buffers) {
    return std::make_unique<host_carrier>(buffers);
}

#if !LANEWAY_HAS_CUDA
std::unique_ptr<exchange_carrier> carry_between_gpus(machine&, std::vector<exchange_buffers>&, double) {
    throw usage_error("this build has no support for GPUs");
}
#endif

}  // namespace laneway::styles
