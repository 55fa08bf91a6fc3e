// The inside of a router: its policy and its outputs.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flow/link_core.hpp"
#include "laneway/flow/router.hpp"

namespace laneway::flow {

struct router_core {
    router_core(routing_policy p, std::string n) : policy(std::move(p)), name(std::move(n)) {}

    void add_input() {
        const std::lock_guard lock(mutex);
        ++open_inputs;
    }
    void add_output(const std::shared_ptr<link_core>& link) {
        const std::lock_guard lock(mutex);
        outputs.push_back(link);
        ends.push_back(link->destination);
    }
    /// Payload of a packet that all outputs can take.
    [[nodiscard]] std::size_t packet_limit() const;
    /// Puts a packet into the queues that the policy names; returns what happens when it has been received. Throws
    /// usage_error naming the router where the policy names none, or ones that do not exist, or throws.
    [[nodiscard]] event send(const packet_info& info, const endpoint& from, const segment& part, const event& ready);
    /// What a deadline's message says of its outputs.
    [[nodiscard]] std::string account() const;
    /// An input will send no more.
    void close_input();

    const routing_policy policy;
    const std::string name;

private:
    [[nodiscard]] route choose(const packet_info& info, const endpoint& from, const std::vector<endpoint>& to) const;

    mutable std::mutex mutex;
    std::vector<std::weak_ptr<link_core>> outputs;  ///< which know this router, and so do not belong to it
    std::vector<endpoint> ends;
    int open_inputs = 0;
};

}  // namespace laneway::flow
