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

    /// Throw usage_error that names the link when the router has ended.
    void add_input(const std::string& link);
    void add_output(const std::shared_ptr<link_core>& link);
    /// Payload of a packet that all outputs can take.
    [[nodiscard]] std::size_t packet_limit() const;
    /// Adds a packet for each of the queues that the policy names, or for one of them. Throws usage_error naming the
    /// router where the policy names none, or ones that do not exist, or throws.
    void plan(const packet_info& info, const std::shared_ptr<sent_message>& message, std::vector<planned_send>& into);
    /// What a deadline's message says of its outputs.
    [[nodiscard]] std::string account() const;
    /// An input will send no more.
    void close_input();
    /// Inputs that may still send.
    [[nodiscard]] int count_open_inputs() const;

    const routing_policy policy;
    const std::string name;

private:
    void require_open(const std::string& link) const;  ///< under the mutex
    [[nodiscard]] route choose(const packet_info& info, const endpoint& from, const std::vector<endpoint>& to) const;

    mutable std::mutex mutex;
    std::vector<std::weak_ptr<link_core>> outputs;  ///< which know this router, and so do not belong to it
    std::vector<endpoint> ends;
    int open_inputs = 0;
    bool ended = false;  ///< all inputs have been shut down
};

}  // namespace laneway::flow
