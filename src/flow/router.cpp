#include "laneway/flow/router.hpp"

#include <algorithm>
#include <set>

#include "flow/router_core.hpp"
#include "laneway/base/error.hpp"
#include "laneway/simt/run_end.hpp"

namespace laneway::flow {

namespace {

std::shared_ptr<router_core> make_core(routing_policy policy, const std::string& name) {
    const std::string told = name.empty() ? "router" : "router '" + name + "'";
    if (!policy) throw usage_error(told + " has no policy");
    return std::make_shared<router_core>(std::move(policy), told);
}

}  // namespace

router::router(context& of, routing_policy policy, const std::string& name)
    : endpoint_([&] {
          auto core = make_core(std::move(policy), name);
          const std::string told = core->name;
          return of.core()->make_endpoint(host_memory, told, std::move(core));
      }()) {}

void router_core::add_input(const std::string& link) {
    const std::lock_guard lock(mutex);
    require_open(link);
    ++open_inputs;
}

void router_core::add_output(const std::shared_ptr<link_core>& link) {
    const std::lock_guard lock(mutex);
    require_open(link->name);
    outputs.push_back(link);
    ends.push_back(link->destination);
}

void router_core::require_open(const std::string& link) const {
    if (ended) throw usage_error(link + ": the router has ended, as all its inputs have been shut down");
}

std::size_t router_core::packet_limit() const {
    const std::lock_guard lock(mutex);
    std::size_t least = ~std::size_t{0};
    for (const auto& output : outputs) {
        if (const auto link = output.lock()) least = std::min(least, link->sizes.packet_bytes);
    }
    return least;
}

route router_core::choose(const packet_info& info, const endpoint& from, const std::vector<endpoint>& to) const {
    const std::string what = name + ": its policy, asked for packet at byte " + std::to_string(info.offset) +
                             " of message " + std::to_string(info.message) + " from " + from.name() + ", ";
    route chosen;
    try {
        chosen = policy(info, from, to);
    } catch (...) {
        std::throw_with_nested(usage_error(what + "threw: " + reason_of(std::current_exception())));
    }
    if (chosen.outputs.empty()) throw usage_error(what + "named no destination");
    for (const std::size_t output : chosen.outputs) {
        if (output < to.size()) continue;
        throw usage_error(what + "named output " + std::to_string(output) + " of " + std::to_string(to.size()));
    }
    std::set<std::size_t> seen;
    std::erase_if(chosen.outputs, [&](std::size_t output) { return !seen.insert(output).second; });
    return chosen;
}

void router_core::plan(const packet_info& info, const std::shared_ptr<sent_message>& message,
                       std::vector<planned_send>& into) {
    std::vector<std::weak_ptr<link_core>> known;
    std::vector<endpoint> to;
    {
        const std::lock_guard lock(mutex);
        known = outputs;
        to = ends;
    }
    const route chosen = choose(info, message->source, to);
    std::vector<std::shared_ptr<link_core>> takers;
    for (const std::size_t output : chosen.outputs) {
        takers.push_back(known[output].lock());
        if (!takers.back()) throw usage_error(name + ": its link to " + to[output].name() + " is gone");
    }
    if (!chosen.to_all) {
        into.push_back(link_core::plan(std::move(takers), info, message));
        return;
    }
    for (const auto& taker : takers) into.push_back(link_core::plan({taker}, info, message));
}

std::string router_core::account() const {
    std::vector<std::weak_ptr<link_core>> all;
    {
        const std::lock_guard lock(mutex);
        all = outputs;
    }
    std::string text;
    for (const auto& output : all) {
        if (const auto link = output.lock()) text += (text.empty() ? "" : "; ") + link->name + ": " + link->account();
    }
    return text.empty() ? "the router has no outputs" : text;
}

int router_core::count_open_inputs() const {
    const std::lock_guard lock(mutex);
    return open_inputs;
}

void router_core::close_input() {
    std::vector<std::weak_ptr<link_core>> all;
    {
        const std::lock_guard lock(mutex);
        if (--open_inputs > 0) return;
        ended = true;
        all = outputs;
    }
    for (const auto& output : all) {
        if (const auto link = output.lock()) link->close();
    }
}

}  // namespace laneway::flow
