#include "laneway/task/channel_table.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::uint32_t max_rooms = 1u << 16;
constexpr std::uint32_t max_at_once = 1u << 26;  // what the lanes of a warp reserve together is told in 32 bits

}  // namespace

channel_table::channel_table(const channel_graph_options& options)
    : rooms_(options.rooms), stack_bytes_(options.stack_bytes) {
    if (rooms_ == 0 || rooms_ > max_rooms) {
        throw usage_error("channel_graph_options.rooms: 1 to " + std::to_string(max_rooms) + ", not " +
                          std::to_string(rooms_));
    }
    rooms_ = std::bit_ceil(rooms_);
}

std::uint32_t channel_table::add_channel(const channel_plan& plan, std::size_t alignment) {
    const auto number = static_cast<std::uint32_t>(plans_.size());
    const channel_options& options = plan.options;
    const std::string name = channel_name(number, plan);
    if (number == max_channels) {
        throw usage_error("a graph has at most " + std::to_string(max_channels) + " channels");
    }
    if (alignment > 16) throw usage_error(name + ": elements are aligned to 16 bytes at most");
    if (options.levels == 0) throw usage_error(name + ": a channel has one level at least");
    if (options.at_once == 0) throw usage_error(name + ": a lane may reserve one element at least");
    if (options.at_once > max_at_once) {
        throw usage_error(name + ": " + std::to_string(options.at_once) + " elements at once are more than " +
                          std::to_string(max_at_once));
    }
    if (options.width < options.at_once) {
        throw usage_error(name + ": a width of " + std::to_string(options.width) + " is below the minimum, " +
                          std::to_string(options.at_once) + ": so many elements may be reserved at once");
    }
    if (options.width > channel_queue_ref::max_width) {
        throw usage_error(name + ": a width of " + std::to_string(options.width) + " is above the maximum, " +
                          std::to_string(channel_queue_ref::max_width));
    }
    plans_.push_back(plan);
    plans_.back().options.width = std::bit_ceil(options.width);
    consumers_.push_back(nobody);
    return number;
}

void channel_table::refuse_unknown(std::uint32_t channel) const {
    if (channel >= plans_.size()) throw usage_error("the graph has no channel " + std::to_string(channel));
}

void channel_table::connect(std::uint32_t channel, std::uint32_t kernel) {
    refuse_unknown(channel);
    if (kernel >= n_kernels_) throw usage_error("the graph has no kernel " + std::to_string(kernel));
    if (consumers_[channel] != nobody && consumers_[channel] != kernel) {
        throw usage_error(channel_name(channel, plans_[channel]) + " has a consumer already: a channel has just one");
    }
    consumers_[channel] = kernel;
}

std::uint32_t channel_table::connect_host(std::uint32_t channel) {
    const std::uint32_t kernel = add_kernel();
    connect(channel, kernel);
    of_host_.push_back(kernel);
    return kernel;
}

bool channel_table::is_for_host(std::uint32_t channel) const {
    return std::find(of_host_.begin(), of_host_.end(), consumers_[channel]) != of_host_.end();
}

channel_table channel_table::take() {
    channel_table taken = *this;
    beginnings_.clear();
    return taken;
}

void channel_table::init(std::uint32_t channel, int pe, std::span<const std::byte> elements) {
    refuse_unknown(channel);
    for (auto& other : beginnings_) {
        if (other.channel != channel || other.pe != pe) continue;
        other.elements.insert(other.elements.end(), elements.begin(), elements.end());
        return;
    }
    beginnings_.push_back({channel, pe, {elements.begin(), elements.end()}});
}

std::vector<channel_plan> channel_table::plans_for(const std::vector<std::uint32_t>& kernels, graph_use use) const {
    std::vector<channel_plan> plans = plans_;
    if (plans.empty()) throw usage_error("the graph has no channel");
    for (std::uint32_t c = 0; c < plans.size(); ++c) {
        const auto found = std::find(kernels.begin(), kernels.end(), consumers_[c]);
        if (consumers_[c] == nobody) throw usage_error(channel_name(c, plans[c]) + " has no consumer: see connect()");
        if (found == kernels.end()) {
            throw usage_error(channel_name(c, plans[c]) + ": its consumer is not among the kernels given to run()");
        }
        if (use != graph_use::session && is_for_host(c)) {
            throw usage_error(channel_name(c, plans[c]) +
                              " is consumed by host threads: start the graph in a session, see service()");
        }
        plans[c].consumer = static_cast<std::uint32_t>(found - kernels.begin());
    }
    const bool has_source =
        std::any_of(beginnings_.begin(), beginnings_.end(), [](const beginning& one) { return !one.elements.empty(); });
    if (!has_source && use == graph_use::run)
        throw usage_error("the graph has no source: give a channel elements by init()");
    return plans;
}

void channel_table::fill(std::vector<channel_memory>& memories) {
    const auto beginnings = std::move(beginnings_);
    beginnings_.clear();
    for (const auto& one : beginnings) {
        memories[static_cast<std::size_t>(one.pe)].init(one.channel, one.elements.data(),
                                                        one.elements.size() / plans_[one.channel].element_bytes);
    }
}

}  // namespace laneway
