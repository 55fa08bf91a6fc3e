// Calls of a fork-join program that the host has made, as a component of a run.
#pragma once

#include <cstddef>

#include "laneway/task/channel_component.hpp"
#include "laneway/task/fork_task.hpp"

namespace laneway {

/// Made by fork_join::component, whose program it refers to. Each run makes all calls once, on all PEs in turn.
/// `Graph`: the channels of its functions; `Part`: these as a component.
template <class Graph, class Part, class Function>
class fork_calls {
    using root = fork_root<typename Function::result>;

public:
    using ref_type = typename Part::ref_type;
    using arguments = typename Function::arguments;
    using result = typename Function::result;
    static constexpr const char* name = "a fork-join program";

    fork_calls(Graph& graph, const Part& part, channel<fork_element<Function>> to, std::vector<arguments> all)
        : graph_(graph), part_(part), to_(to), all_(std::move(all)) {}

    /// Of the last run, in the order of the calls; none where it has failed.
    [[nodiscard]] const std::vector<result>& results() const { return results_; }

    // As a component, see run/component.hpp.

    [[nodiscard]] const machine* owner() const { return part_.owner(); }
    [[nodiscard]] const void* identity() const { return part_.identity(); }
    void take_place(std::uint32_t place) { part_.take_place(place); }
    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        graph_.forget_init();  // of a run that did not begin
        roots_.clear();
        results_.clear();
        const auto pes = static_cast<std::uint64_t>(machine.n_pes());
        for (std::uint64_t pe = 0; pe < pes; ++pe) {
            roots_.emplace_back(machine.device(static_cast<int>(pe)), (all_.size() + pes - 1) / pes);
            std::vector<fork_element<Function>> begins;
            for (std::uint64_t i = pe; i < all_.size(); i += pes) {
                constexpr auto at = static_cast<std::uint32_t>(offsetof(root, result));
                begins.push_back({{reinterpret_cast<std::byte*>(roots_[pe].data() + i / pes), at, 0}, all_[i]});
            }
            graph_.init(to_, begins, static_cast<int>(pe));
        }
        part_.begin(machine, plan, until);
    }
    [[nodiscard]] ref_type ref(int pe) const { return part_.ref(pe); }
    /// Throws device_fault for a call that has not finished once.
    void end(const run_report& report) {
        part_.end(report);
        std::vector<result> told(all_.size());
        for (std::uint64_t pe = 0; pe < roots_.size(); ++pe) {
            const auto ended = roots_[pe].copy_out();
            for (std::uint64_t i = pe; i < all_.size(); i += roots_.size()) {
                const root& end = ended[i / roots_.size()];
                if (end.header.open != ~std::uint32_t{0}) {  // one less than at the beginning
                    throw device_fault("call " + std::to_string(i) + " has ended without a result, or with several: " +
                                       "each function finishes once, or forks and syncs");
                }
                told[i] = end.result;
            }
        }
        results_ = std::move(told);
        roots_.clear();
    }
    [[nodiscard]] std::string account() const { return part_.account(); }

private:
    Graph& graph_;
    Part part_;
    channel<fork_element<Function>> to_;
    std::vector<arguments> all_;
    std::vector<buffer<root>> roots_;  ///< of each PE, while a run goes on
    std::vector<result> results_;
};

}  // namespace laneway
