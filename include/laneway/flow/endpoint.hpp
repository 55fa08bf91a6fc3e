// Who can send and receive: the host, a device, a router. Host only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace laneway::flow {

struct router_core;

/// Names the host's memory where a device's number is expected.
inline constexpr int host_memory = -1;

/// An end of links. Copies are one endpoint. A device may have several, each with links of its own, as if it were
/// several devices (context::add_endpoint).
class endpoint {
public:
    /// The context makes them, and routers.
    endpoint(std::uint64_t context, std::uint32_t id, int device, std::string name,
             std::shared_ptr<router_core> router = {})
        : context_(context), id_(id), device_(device), name_(std::move(name)), router_(std::move(router)) {}

    /// Number of its context in the process: another one refuses it.
    [[nodiscard]] std::uint64_t context() const { return context_; }
    /// Unlike those of all other endpoints of the context.
    [[nodiscard]] std::uint32_t id() const { return id_; }
    /// Number of the device, from 0 in the order of the context's list; host_memory for the host. A router has none.
    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] bool is_router() const { return router_ != nullptr; }
    [[nodiscard]] bool is_host() const { return !is_router() && device_ == host_memory; }
    /// "host", "cpu:0", "cpu:0 (second)", "router 'gather'": for messages.
    [[nodiscard]] const std::string& name() const { return name_; }
    /// Of a router's endpoint; else null.
    [[nodiscard]] const std::shared_ptr<router_core>& router() const { return router_; }

    friend bool operator==(const endpoint& a, const endpoint& b) { return a.context_ == b.context_ && a.id_ == b.id_; }

private:
    std::uint64_t context_;
    std::uint32_t id_;
    int device_;
    std::string name_;
    std::shared_ptr<router_core> router_;
};

}  // namespace laneway::flow
