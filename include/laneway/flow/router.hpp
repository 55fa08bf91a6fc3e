// Routers: packets of several senders, to receivers that a policy chooses. Host only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "laneway/flow/link.hpp"

namespace laneway::flow {

/// Where a packet shall go: numbers of a router's outputs.
struct route {
    std::vector<std::size_t> outputs;
    bool to_all = false;  ///< to each of them; else to the one that first has a free buffer
};

/// Chooses the destinations of a packet. Called on the thread that sends, by several at once where several send: for
/// each packet, before anything of it is copied. `outputs`: the destinations of the router's links, in the order in
/// which these were made.
using routing_policy =
    std::function<route(const packet_info& packet, const endpoint& source, const std::vector<endpoint>& outputs)>;

/// Joins links: packets that arrive on any of its inputs leave on those outputs that its policy names. It holds no
/// packets: each goes from its sender's memory to a buffer of its receiver. When all inputs have been shut down and
/// their packets are delivered, each output is. Its links are made before anything is sent, and refused after the end.
/// Copies are one router.
class router {
public:
    /// `name` for messages. Throws usage_error without a policy.
    router(context& of, routing_policy policy, const std::string& name = "");

    [[nodiscard]] const laneway::flow::endpoint& endpoint() const { return endpoint_; }
    operator const laneway::flow::endpoint&() const { return endpoint_; }  // NOLINT(google-explicit-constructor)

private:
    laneway::flow::endpoint endpoint_;
};

/// To whichever output has a free buffer first.
routing_policy any_available();
/// To all outputs but those of the sender itself.
routing_policy broadcast();
/// To output `owner(packet)`; without one, to the output that the packet's tag numbers.
routing_policy by_owner(std::function<std::size_t(const packet_info& packet)> owner = {});
/// A message is cut into equal parts, one for each output, whether it is quick or slow.
routing_policy even_split();
/// From each sender to the output behind its own, from the last to the first: senders are outputs as well.
routing_policy ring();
/// Towards the first output, by a binomial tree: output i sends to that whose number is i without its lowest set bit,
/// and output 0 to the host, which is an output as well.
routing_policy tree();

}  // namespace laneway::flow
