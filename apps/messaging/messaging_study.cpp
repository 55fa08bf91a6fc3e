#include "messaging/messaging_study.hpp"

#include <algorithm>
#include <bit>

#include "messaging/by_one_sided.hpp"
#include "messaging/by_two_sided.hpp"

namespace laneway::apps {

namespace {

constexpr std::uint64_t max_memory = std::uint64_t{8} << 30;    ///< of a device, for messages
constexpr std::uint64_t max_requests = std::uint64_t{1} << 20;  ///< of a communicator
constexpr std::uint64_t max_ring_slots = 4096;                  ///< of 1 KiB, from each PE to each other one

using words_array = symmetric_array<std::uint64_t>;

void check(const messaging_options& o, const runtime& rt) {
    const auto refuse = [](const std::string& what) { throw usage_error(what); };
    if (rt.n_pes() < 2 || rt.n_pes() > messaging_options::max_pes) {
        refuse("devices: from 2 to " + std::to_string(messaging_options::max_pes) + " pass messages, not " +
               std::to_string(rt.n_pes()));
    }
    if (o.bytes == 0 || o.bytes % 8 != 0 || o.bytes > messaging_options::max_bytes) {
        refuse("bytes of a message: a multiple of 8 up to " + std::to_string(messaging_options::max_bytes) + ", not " +
               std::to_string(o.bytes));
    }
    if (o.rounds == 0 || o.rounds > messaging_options::max_rounds) {
        refuse("rounds: from 1 to " + std::to_string(messaging_options::max_rounds) + ", not " +
               std::to_string(o.rounds));
    }
    if (o.model == message_model::unordered && o.pattern == message_pattern::n_to_1) {
        refuse("models: unordered messages are received from one source, those of n-to-1 from any");
    }
    if (o.window == 0 || o.window > messaging_options::max_window) {
        refuse("window: from 1 to " + std::to_string(messaging_options::max_window) + " buffers, not " +
               std::to_string(o.window));
    }
}

std::uint64_t window_of(const messaging_options& o) {
    if (o.pattern == message_pattern::ping_pong) return 1;
    return o.pattern == message_pattern::all_to_all ? 2 : o.window;
}

/// A communicator in which no rank waits for one that waits for it: in all_to_all a PE may be a round ahead of another,
/// so two messages of each group and source may come before their receives.
communicator_options communicator_for(const messaging_options& o, std::uint64_t groups, std::uint64_t n_pes) {
    const std::uint64_t at_once = std::bit_ceil(groups * std::max<std::uint64_t>(window_of(o), 2) + 1024);
    const std::uint64_t early = 2 * groups * (n_pes - 1);
    if (at_once > max_requests || (o.pattern == message_pattern::all_to_all && early > max_requests / 2)) {
        throw usage_error("groups and window: a communicator has no room for so many messages of " +
                          std::to_string(groups) + " groups at once; ask for fewer");
    }
    communicator_options made;
    made.requests = static_cast<std::uint32_t>(at_once);
    made.ring_slots = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_ceil(groups), 64, max_ring_slots));
    if (o.pattern == message_pattern::n_to_1) return made;
    made.engines = o.engines;
    made.rules.allow_overtaking = o.model == message_model::unordered;
    made.rules.no_any_source = made.rules.no_any_tag = o.engines > 1 || made.rules.allow_overtaking;
    if (o.pattern != message_pattern::all_to_all) return made;
    made.unexpected = static_cast<std::uint32_t>(std::min(1024 + 2 * early / o.engines, max_requests));
    if (o.bytes <= made.eager_bytes) made.unexpected_bytes += 2 * early * std::bit_ceil(o.bytes);
    return made;
}

/// Of the memory of a measurement.
struct message_memory {
    message_memory(runtime& rt, const message_area& area)
        : out(rt.allocate<std::uint64_t>(area.groups * (area.words + message_area::margin))),
          in(rt.allocate<std::uint64_t>(area.window * pes(rt) * area.groups * area.words)),
          times(rt.allocate<std::uint64_t>(area.time_words())), right(rt.allocate<std::uint64_t>(1)),
          arrived(rt.allocate<std::uint64_t>(pes(rt) * area.groups)), freed(rt.allocate<std::uint64_t>(area.groups)),
          met(rt.allocate<std::uint64_t>(area.groups)) {
        std::vector<std::uint64_t> words(out.size());
        const std::uint64_t each = area.words + message_area::margin;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = message_area::word_of(pe, i / each, i % each);
            out.copy_in(pe, words);
            std::vector<std::uint64_t> none(times.size());
            none[0] = ~std::uint64_t{0};  // the earliest start is looked for
            times.copy_in(pe, none);
        }
    }
    void lend_to(message_area& area) const {
        area.out = out.ref();
        area.in = in.ref();
        area.times = times.ref();
        area.right = right.ref();
        area.arrived = arrived.ref();
        area.freed = freed.ref();
        area.met = met.ref();
    }

    static std::uint64_t pes(const runtime& rt) { return static_cast<std::uint64_t>(rt.n_pes()); }

    words_array out, in, times, right, arrived, freed, met;
};

/// How many messages a PE checks, with those of the round that is not timed.
std::uint64_t checked_by(const message_area& area, int pe, int n_pes) {
    const std::uint64_t each = area.groups * (area.rounds + 1), others = static_cast<std::uint64_t>(n_pes) - 1;
    switch (area.pattern) {
        case message_pattern::ping_pong: return pe == 0 ? each : 0;
        case message_pattern::all_to_all: return each * others;
        case message_pattern::stream: return pe == n_pes - 1 ? each : 0;
        default: return pe == 0 ? each * others : 0;
    }
}

messaging_result read(const message_memory& memory, const message_area& area, int n_pes) {
    for (int pe = 0; pe < n_pes; ++pe) {
        if (memory.right.copy_out(pe)[0] != checked_by(area, pe, n_pes) * area.words) {
            throw device_fault("messages have been lost, or brought something else");
        }
    }
    messaging_result result;
    result.groups = area.groups;
    result.rounds = area.rounds;
    const int receives = area.pattern == message_pattern::stream ? n_pes - 1 : 0;
    const std::vector<std::uint64_t> times = memory.times.copy_out(receives);
    if (area.pattern == message_pattern::ping_pong) {
        for (std::uint64_t round = 1; round <= area.rounds; ++round) {
            result.round_trip_ns.push_back(static_cast<double>(times[message_area::clock_words + round]));
        }
        result.messages = 2 * area.rounds * area.groups;  // there and back
    } else {
        result.messages = checked_by(area, receives, n_pes) / (area.rounds + 1) * area.rounds;
    }
    result.seconds = static_cast<double>(times[1] - times[0]) * 1e-9;
    return result;
}

/// Throws usage_error for more memory than a measurement may have.
void limit_memory(const message_area& area, std::uint64_t n_pes) {
    const double buffers = static_cast<double>(area.groups) * static_cast<double>(area.words) *
                           static_cast<double>(area.window * n_pes + 1);
    const double needed = 8.0 * (buffers + static_cast<double>(area.time_words()));
    if (needed <= static_cast<double>(max_memory)) return;
    throw usage_error("bytes, groups, window and rounds: messages of " + std::to_string(area.groups) + " groups take " +
                      std::to_string(static_cast<std::uint64_t>(needed) >> 20) + " MiB of each device, more than " +
                      std::to_string(max_memory >> 20));
}

/// What a first run finds out, as it depends on the whole program.
struct counted_groups {
    std::vector<std::vector<std::uint64_t>> places;  ///< see message_area::place, by PE
    std::uint64_t available = ~std::uint64_t{0};     ///< that each PE has
};

template <class Body, class Component>
counted_groups count_groups(runtime& rt, Body body, Component component) {
    auto place = rt.allocate<std::uint64_t>(3);
    for (int pe = 0; pe < rt.n_pes(); ++pe) place.copy_in(pe, {~std::uint64_t{0}, ~std::uint64_t{0}, 0});
    body.area.place = place.ref();
    rt.run(body, component);
    counted_groups counted;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        counted.places.push_back(place.copy_out(pe));
        counted.available = std::min(counted.available, counted.places.back()[2]);
    }
    return counted;
}

/// Measures with a program of the same kind. `component_for` a runtime and a number of groups; what it takes on a PE
/// comes on top of the options' buffer_bytes, so that the program is as it was counted.
template <class Body, class ComponentFor>
messaging_result measure_with(const messaging_options& o, options job, Body body, const ComponentFor& component_for) {
    message_area& area = body.area;
    counted_groups counted;
    {
        runtime rt(job);
        check(o, rt);
        area.pattern = o.pattern;
        area.lanes = o.lanes;
        area.words = o.bytes / 8;
        area.window = window_of(o);
        counted = count_groups(rt, body, component_for(rt, 1));
        area.groups = o.groups == 0 ? counted.available : std::min(o.groups, counted.available);
        area.rounds = timed_rounds(o, area.groups);
        limit_memory(area, message_memory::pes(rt));
        job.buffer_bytes += held_bytes_of(component_for(rt, area.groups), 0);
    }
    runtime rt(job);
    auto component = component_for(rt, area.groups);
    auto place = rt.allocate<std::uint64_t>(3);
    for (int pe = 0; pe < rt.n_pes(); ++pe) place.copy_in(pe, counted.places[static_cast<std::size_t>(pe)]);
    area.place = place.ref();
    const message_memory memory(rt, area);
    memory.lend_to(area);
    rt.run(body, component);
    messaging_result result = read(memory, area, rt.n_pes());
    result.available = counted.available;
    return result;
}

}  // namespace

message_model parse_message_model(const std::string& name) {
    if (name == "store") return message_model::store;
    if (name == "load") return message_model::load;
    if (name == "put") return message_model::put;
    if (name == "get") return message_model::get;
    if (name == "two-sided") return message_model::two_sided;
    if (name == "unordered") return message_model::unordered;
    throw usage_error("models: store, load, put, get, two-sided or unordered, not " + name);
}

message_pattern parse_message_pattern(const std::string& name) {
    if (name == "ping-pong") return message_pattern::ping_pong;
    if (name == "stream") return message_pattern::stream;
    if (name == "n-to-1") return message_pattern::n_to_1;
    if (name == "all-to-all") return message_pattern::all_to_all;
    throw usage_error("patterns: ping-pong, stream, n-to-1 or all-to-all, not " + name);
}

width parse_width(const std::string& name) {
    if (name == "lane") return width::lane;
    if (name == "warp") return width::warp;
    if (name == "block") return width::block;
    throw usage_error("width: lane, warp or block, not " + name);
}

std::uint64_t timed_rounds(const messaging_options& o, std::uint64_t groups) {
    if (groups == 1) return o.rounds;
    return std::min(o.rounds, std::max(messaging_options::max_messages / groups, messaging_options::min_rounds));
}

messaging_result measure_messaging(const messaging_options& options) {
    auto job = options.job;
    job.path = path::direct;  // aggregated operations have no order, and a signal would not tell of the words before it
    if (options.model == message_model::two_sided || options.model == message_model::unordered) {
        by_two_sided body{};
        body.is_unordered = options.model == message_model::unordered;
        return measure_with(options, job, body, [&](runtime& rt, std::uint64_t groups) {
            return rt.communicator(communicator_for(options, groups, message_memory::pes(rt)));
        });
    }
    by_one_sided body{};
    body.model = options.model;
    return measure_with(options, job, body, [](runtime& rt, std::uint64_t) {
        refuse_apart(rt.machine(), "models: all but two-sided and unordered want memory that all devices reach");
        return rt.one_sided();
    });
}

}  // namespace laneway::apps
