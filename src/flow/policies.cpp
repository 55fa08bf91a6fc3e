#include <algorithm>
#include <numeric>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/flow/router.hpp"

namespace laneway::flow {

namespace {

/// Number of the output that is the sender itself; `outputs.size()` where none is.
std::size_t place_of(const endpoint& source, const std::vector<endpoint>& outputs) {
    return static_cast<std::size_t>(std::find(outputs.begin(), outputs.end(), source) - outputs.begin());
}

}  // namespace

routing_policy any_available() {
    return [](const packet_info&, const endpoint&, const std::vector<endpoint>& outputs) {
        route all;
        all.outputs.resize(outputs.size());
        std::iota(all.outputs.begin(), all.outputs.end(), std::size_t{0});
        return all;
    };
}

routing_policy broadcast() {
    return [](const packet_info&, const endpoint& source, const std::vector<endpoint>& outputs) {
        route others{{}, true};
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!(outputs[i] == source)) others.outputs.push_back(i);
        }
        return others;
    };
}

routing_policy by_owner(std::function<std::size_t(const packet_info& packet)> owner) {
    return [owner = std::move(owner)](const packet_info& packet, const endpoint&, const std::vector<endpoint>&) {
        return route{{owner ? owner(packet) : static_cast<std::size_t>(packet.tag)}};
    };
}

routing_policy even_split() {
    return [](const packet_info& packet, const endpoint&, const std::vector<endpoint>& outputs) -> route {
        if (outputs.empty()) return {};
        const double share = static_cast<double>(packet.message_bytes) / static_cast<double>(outputs.size());
        const double part = share > 0 ? static_cast<double>(packet.offset) / share : 0;
        return {{std::min(static_cast<std::size_t>(part), outputs.size() - 1)}};
    };
}

routing_policy ring() {
    return [](const packet_info&, const endpoint& source, const std::vector<endpoint>& outputs) -> route {
        const std::size_t mine = place_of(source, outputs);
        if (mine == outputs.size()) {
            throw usage_error(source.name() + " is no output of the router, and so has no place in its ring");
        }
        return {{(mine + 1) % outputs.size()}};
    };
}

routing_policy tree() {
    return [](const packet_info&, const endpoint& source, const std::vector<endpoint>& outputs) -> route {
        std::vector<std::size_t> devices;
        std::size_t host = outputs.size();
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i].is_host()) {
                host = i;
            } else {
                devices.push_back(i);
            }
        }
        for (std::size_t rank = 0; rank < devices.size(); ++rank) {
            if (!(outputs[devices[rank]] == source)) continue;
            if (rank > 0) return {{devices[rank & (rank - 1)]}};
            if (host == outputs.size()) throw usage_error("the root of the tree sends to the host, which is no output");
            return {{host}};
        }
        throw usage_error(source.name() + " is no output of the router, and so has no place in its tree");
    };
}

}  // namespace laneway::flow
