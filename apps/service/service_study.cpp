#include "service/service_study.hpp"

#include <algorithm>
#include <cmath>

#include "laneway/simt/energy.hpp"
#include "laneway/task/service.hpp"

namespace laneway::apps {

namespace {

/// A request of so many bytes, which is answered by the sum of its words.
template <std::size_t Bytes>
struct echo {
    struct arguments {
        std::uint64_t words[Bytes / 8];
    };
    using result = std::uint64_t;
    static constexpr const char* name = "echo";
    static constexpr bool ordered = false;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& a) const {
        std::uint64_t sum = 0;
        for (const std::uint64_t word : a.words) sum += word;
        return sum;
    }
    static LANEWAY_FN arguments made_of(std::uint64_t value) {
        arguments made{};
        for (std::uint64_t& word : made.words) word = value++;
        return made;
    }
};

/// One lane calls again and again, or many post.
struct ask_service {
    std::uint32_t bytes = 8;
    std::uint64_t rounds = 0;  ///< of the lane that calls; 0: many post
    std::uint64_t warps = 0;
    std::uint64_t each = 0;  ///< requests of a lane that posts
    symmetric_ref<std::uint64_t> times{};
    symmetric_ref<std::uint64_t> wrong{};

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        switch (bytes) {
            case 8: return ask<echo<8>>(ctx, served);
            case 64: return ask<echo<64>>(ctx, served);
            default: return ask<echo<256>>(ctx, served);
        }
    }

private:
    template <class Request, class Ctx, class Service>
    LANEWAY_FN void ask(Ctx& ctx, Service& served) const {
        if (rounds == 0) {
            if (ctx.rank() / static_cast<unsigned>(Ctx::warp_lanes) >= warps) return;
            const auto asked = Request::made_of(ctx.rank());
            for (std::uint64_t i = 0; i < each; ++i) {
                if (served.post(ctx, task<Request>, asked) != status::ok) return;
            }
            return;
        }
        if (ctx.rank() != 0) return;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const auto asked = Request::made_of(round);
            const std::uint64_t start = ctx.now_ns();
            const auto answer = served.call(ctx, task<Request>, asked);
            times.local(ctx)[round] = ctx.now_ns() - start;
            if (!answer) return;
            if (answer.value != Request{}(ctx, asked)) atomic_add(ctx, wrong[0], 1);
        }
    }
};

std::vector<device_id> devices_of(const machine& job) {
    std::vector<device_id> devices;
    for (int pe = 0; pe < job.n_pes(); ++pe) devices.push_back(job.device(pe)->id());
    return devices;
}

template <class Service>
void run_alone(runtime& rt, Service& served, const service_study_options& options, ask_service body,
               service_study_result& result) {
    const auto times = rt.allocate<std::uint64_t>(options.rounds), wrong = rt.allocate<std::uint64_t>(1);
    body.rounds = options.rounds;
    body.times = times.ref();
    body.wrong = wrong.ref();
    rt.run(body, served);
    if (wrong.copy_out(0)[0] != 0 || served.statistics().requests != options.rounds) {
        throw device_fault("a service has lost requests, or answered them wrongly");
    }
    for (const std::uint64_t time : times.copy_out(0)) result.round_trip_ns.push_back(static_cast<double>(time));
}

template <class Service>
void run_in_bulk(runtime& rt, Service& served, const ask_service& body, std::uint64_t lanes,
                 service_study_result& result) {
    const energy_span consumed(devices_of(rt.machine()));
    result.seconds = rt.run(body, served).run_seconds;
    const std::optional<double> joules = consumed.joules();
    result.requests = served.statistics().requests;
    result.slots = served.statistics().slots;
    result.joules = std::nullopt;  // the meter moves in steps of some 0.1 s
    if (result.seconds >= 0.5) result.joules = joules;
    if (result.requests != body.each * lanes) throw device_fault("a service has lost requests");
}

}  // namespace

service_by parse_servers(const std::string& name) {
    if (name == "warps") return service_by::warps;
    if (name == "host") return service_by::host;
    if (name == "pe") return service_by::pe;
    throw usage_error("servers: warps, host or pe, not " + name);
}

service_study_result measure_service(const service_study_options& options) {
    if (options.bytes != 8 && options.bytes != 64 && options.bytes != 256) {
        throw usage_error("bytes of a request: 8, 64 or 256, not " + std::to_string(options.bytes));
    }
    if (options.rounds == 0) throw usage_error("rounds: 1 at least");
    runtime rt(options.job);
    service served(rt.machine(), options.service, echo<8>{}, echo<64>{}, echo<256>{});
    service_study_result result;
    ask_service body{.bytes = options.bytes};
    run_alone(rt, served, options, body, result);
    // How many lanes there are is known to the lanes; a first run of one request each tells the host.
    body.warps = options.warps == 0 ? ~std::uint64_t{0} : options.warps;
    body.each = 1;
    rt.run(body, served);
    const std::uint64_t lanes = std::max<std::uint64_t>(served.statistics().requests, 1);
    body.each = std::max<std::uint64_t>(options.requests / lanes, 1);
    run_in_bulk(rt, served, body, lanes, result);
    if (result.seconds < options.min_seconds) {
        body.each = static_cast<std::uint64_t>(
            std::ceil(static_cast<double>(body.each) * options.min_seconds / result.seconds));
        run_in_bulk(rt, served, body, lanes, result);
    }
    return result;
}

}  // namespace laneway::apps
