// What a graph of channels is made of, without the types of its kernels: channels, who consumes them, what they begin
// with. Host only.
#pragma once

#include <span>

#include "laneway/task/channel_memory.hpp"

namespace laneway {

/// What a graph knows before its kernels' types: channels, who consumes them, what they begin with.
class channel_table {
public:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    std::uint32_t add_channel(const channel_plan& plan, std::size_t alignment);
    std::uint32_t add_kernel() { return n_kernels_++; }
    void connect(std::uint32_t channel, std::uint32_t kernel);
    void init(std::uint32_t channel, int pe, std::span<const std::byte> elements);

    /// Throws usage_error for a graph that cannot run with kernels of these numbers, in this order; the channels' plans
    /// name their consumers by it.
    [[nodiscard]] std::vector<channel_plan> plans_for(const std::vector<std::uint32_t>& kernels, bool has_body) const;
    /// Puts what the next run begins with into empty channels, and forgets it.
    void fill(std::vector<channel_memory>& memories);
    [[nodiscard]] const std::vector<channel_plan>& plans() const { return plans_; }

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
    std::uint32_t n_kernels_ = 0;
};

}  // namespace laneway
