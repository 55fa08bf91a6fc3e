// What a graph of channels is made of, without the types of its kernels: channels, who consumes them, what they begin
// with. Host only.
#pragma once

#include <span>

#include "laneway/task/channel_remote_plan.hpp"

namespace laneway {

/// What a graph is about to do: run alone, with what init gave; be part of a run, where bodies may give elements as
/// well; or of a session, where host threads do.
enum class graph_use { run, component, session };

/// What a graph knows before its kernels' types: channels, who consumes them, what they begin with.
class channel_table {
public:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    /// Throws usage_error for options that cannot be.
    explicit channel_table(const channel_graph_options& options);

    std::uint32_t add_channel(const channel_plan& plan, std::size_t alignment);
    std::uint32_t add_kernel() { return n_kernels_++; }
    /// Makes host threads the consumer of a channel, by a kernel whose number it returns.
    std::uint32_t connect_host(std::uint32_t channel);
    void connect(std::uint32_t channel, std::uint32_t kernel);
    /// Whether host threads consume a channel of the graph.
    [[nodiscard]] bool is_for_host(std::uint32_t channel) const;
    void init(std::uint32_t channel, int pe, std::span<const std::byte> elements);

    /// Throws usage_error for a graph that cannot run with kernels of these numbers, in this order; the channels' plans
    /// name their consumers by it.
    [[nodiscard]] std::vector<channel_plan> plans_for(const std::vector<std::uint32_t>& kernels, graph_use use) const;
    /// Puts what the next run begins with into empty channels, and forgets it.
    void fill(std::vector<channel_memory>& memories);
    /// A copy with what the next run begins with, which this one forgets.
    [[nodiscard]] channel_table take();
    void forget_init() { beginnings_.clear(); }
    [[nodiscard]] const std::vector<channel_plan>& plans() const { return plans_; }
    /// Of each PE and level, for elements that travel between PEs.
    [[nodiscard]] std::uint32_t rooms() const { return rooms_; }
    /// Of each PE, for what its warps keep.
    [[nodiscard]] std::uint64_t stack_bytes() const { return stack_bytes_; }

private:
    struct beginning {
        std::uint32_t channel;
        int pe;
        std::vector<std::byte> elements;
    };
    void refuse_unknown(std::uint32_t channel) const;

    std::vector<channel_plan> plans_;
    std::vector<std::uint32_t> consumers_;  ///< numbers of kernels, as add_kernel gave them
    std::vector<beginning> beginnings_;
    std::vector<std::uint32_t> of_host_;  ///< kernels that give elements to host threads
    std::uint32_t n_kernels_ = 0;
    std::uint32_t rooms_;
    std::uint64_t stack_bytes_;
};

}  // namespace laneway
