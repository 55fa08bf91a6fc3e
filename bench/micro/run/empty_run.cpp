// What a run of nothing costs, host to host.
//
//   bench_empty_run --devices "cuda:0;cuda:0-1" --rounds 1000 --json FILE
// Times are the host's clock, in us. `run`: runtime.run of a body that returns at once. `mailbox`: the same beside a
// mailbox. `for_each`: over an index space without indices. `epoch`: within a session, a post of the host to the last
// PE, and quiesce. `kernel`: for comparison a kernel of one warp in a stream of PE 0, which does nothing, and the wait
// for it.
#include <chrono>
#include <exception>
#include <vector>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

struct do_nothing {
    template <class Ctx, class... Agents>
    LANEWAY_FN void operator()(Ctx&, Agents&...) const {}
};
struct do_no_index {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};
struct nudge {
    std::uint64_t by;
};
struct count_nudge {
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const nudge& m) const {
        atomic_add(ctx, counted[0], m.by);
    }
};

/// A run of nothing by a stream.
void run_stream(device_stream& stream, double timeout_seconds) {
    stream.run(do_nothing{}, 1);
    const event end = stream.record();
    if (!end.wait_for(std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000)))) {
        throw timeout_error("a kernel that does nothing has not ended");
    }
    if (const auto why = end.failure()) std::rethrow_exception(why);
}

/// Microseconds of each of so many calls, behind a tenth as many for warming up.
template <class Call>
std::vector<double> times_of(std::uint64_t rounds, Call&& call) {
    std::vector<double> us;
    for (std::uint64_t round = 0; round < rounds + rounds / 10; ++round) {
        const auto start = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
        if (round >= rounds / 10) us.push_back(taken.count());
    }
    return us;
}

void tell(const std::string& devices, const std::string& name, const std::vector<double>& us, bench::json_lines& json) {
    const auto spread = bench::spread_of(us);
    std::printf("%-12s %-10s least %9.1f us   median %9.1f us   most %9.1f us\n", devices.c_str(), name.c_str(),
                spread.least, spread.median, spread.most);
    json.write({{"benchmark", "empty_run"}, {"devices", devices}, {"operation", name}},
               {{"rounds", static_cast<double>(us.size())},
                {"least_us", spread.least},
                {"median_us", spread.median},
                {"most_us", spread.most}});
}

void measure(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    runtime rt(o);
    const std::uint64_t rounds = args.number("rounds", 1);
    const int last = rt.n_pes() - 1;
    const auto counted = rt.allocate<std::uint64_t>(1);
    const auto box = rt.mailbox<nudge>(count_nudge{counted.ref()});

    device_stream stream = rt.stream(0, "measured");
    tell(devices, "kernel", times_of(rounds, [&] { run_stream(stream, o.timeout_seconds); }), json);
    tell(devices, "run", times_of(rounds, [&] { rt.run(do_nothing{}); }), json);
    tell(devices, "mailbox", times_of(rounds, [&] { rt.run(do_nothing{}, box); }), json);
    tell(devices, "for_each", times_of(rounds, [&] { rt.for_each(0, do_no_index{}); }), json);

    std::uint64_t posted = 0;
    auto session = rt.start(box);
    tell(devices, "epoch",
         times_of(rounds,
                  [&] {
                      session.post(last, nudge{1});
                      session.quiesce();
                      ++posted;
                  }),
         json);
    session.stop();
    if (counted.copy_out(last)[0] != posted) throw device_fault("a message of an epoch has not been served");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"}, {"rounds", "1000"}, {"timeout", "60"}, {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_empty_run: %s\n", e.what());
        return 1;
    }
}
