// Time from a lane's trigger until the signal has landed on the other PE, there and back, against one-sided puts of the
// same size with a signal, which the lane makes itself; and of larger transfers, that waiting warps carry out.
//
//   bench_triggers --devices "cuda:0-1" --rounds 2000 --bytes "8;256;65536" --json FILE
// Times are a lane's own clock around a ping and its pong, halved, in ns; on GPUs the clock's step is 32 ns. `direct`:
// the lane stores the words, a fence and the signal. `trigger`: it triggers a prepared put with a signal; the lane that
// waits polls the signal alone. `chain`: the arrival triggers the way back, so no lane of the other PE takes part.
#include <exception>
#include <vector>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

enum class how : std::uint32_t { direct, trigger, chain };
constexpr const char* names[] = {"direct", "trigger", "chain"};

/// One lane of PE 0 and one of the last PE pass data there and back.
struct pass_data {
    how kind;
    std::uint64_t rounds;
    std::uint64_t words;
    symmetric_ref<std::uint64_t> data;
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> times;  ///< one a round

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const int last = ctx.n_pes() - 1;
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        if (ctx.rank() % lanes != 0 || (ctx.pe() != 0 && ctx.pe() != last)) return;
        if (ctx.pe() != 0 && kind == how::chain) return;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            if (ctx.pe() == 0) {
                *data.local(ctx) = round;
                if (!send(ctx, triggers, last, round)) return;
            }
            if (!wait(ctx, triggers, round)) return;
            if (ctx.pe() == last && !send(ctx, triggers, 0, round)) return;
            if (ctx.pe() == 0) times.local(ctx)[round - 1] = ctx.now_ns() - start;
        }
    }

private:
    template <class Ctx, class Triggers>
    LANEWAY_FN bool send(Ctx& ctx, Triggers& triggers, int to, std::uint64_t round) const {
        if (kind != how::direct) return triggers.trigger(ctx, 0) == status::ok;
        const std::uint64_t* const from = address(ctx, data[0], ctx.pe());
        std::uint64_t* const there = address(ctx, data[words], to);
        for (std::uint64_t i = 0; i < words; ++i) there[i] = from[i];
        ctx.fence(scope::system);  // Partner: the acquire load in wait_signal.
        ctx.store(address(ctx, arrived[0], to), round, order::relaxed, scope::system);
        return true;
    }
    /// With short pauses only where others work on the transfer.
    template <class Ctx, class Triggers>
    LANEWAY_FN bool wait(Ctx& ctx, Triggers& triggers, std::uint64_t round) const {
        return triggers.wait_signal(ctx, arrived[0], round) == status::ok;
    }
};

void prepare(triggers& tags, const pass_data& program, int pe, int to) {
    auto op = trigger_operation::put(program.data, 0, program.words, program.data, program.words, to)
                  .signal(program.arrived[0]);
    if (program.kind == how::chain && pe == 0) op = op.then(to, 0);
    tags.prepare(pe, 0, 1, op, firing::each_round);
}

void measure(const bench::arguments& args, const std::string& devices, how kind, std::uint64_t bytes,
             bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    runtime rt(o);
    if (rt.n_pes() < 2) throw usage_error("devices: at least two are needed");
    const std::uint64_t rounds = args.number("rounds"), words = bytes / sizeof(std::uint64_t);
    if (words == 0 || rounds == 0) throw usage_error("rounds and bytes: 1 and 8 at least");
    const auto data = rt.allocate<std::uint64_t>(2 * words);
    const auto arrived = rt.allocate<std::uint64_t>(1), times = rt.allocate<std::uint64_t>(rounds);
    const pass_data program{kind, rounds, words, data.ref(), arrived.ref(), times.ref()};
    const int last = rt.n_pes() - 1;
    auto tags = rt.triggers({.tags = 1, .alone_bytes = args.number("alone-bytes")});
    prepare(tags, program, 0, last);
    prepare(tags, program, last, 0);
    rt.run(program, tags);
    if (data.copy_out(last)[words] != rounds) throw device_fault("the last round's data has not come");
    std::vector<double> ns;
    for (const std::uint64_t time : times.copy_out(0)) ns.push_back(static_cast<double>(time) / 2);
    const auto spread = bench::spread_of(ns);
    const std::string name = names[static_cast<int>(kind)];
    std::printf("%-10s %-8s %8llu B   least %8.0f ns   median %8.0f ns   most %8.0f ns\n", devices.c_str(),
                name.c_str(), static_cast<unsigned long long>(bytes), spread.least, spread.median, spread.most);
    json.write({{"benchmark", "triggers"}, {"devices", devices}, {"operation", name}},
               {{"bytes", static_cast<double>(bytes)},
                {"rounds", static_cast<double>(rounds)},
                {"alone_bytes", static_cast<double>(args.number("alone-bytes"))},
                {"least_ns", spread.least},
                {"median_ns", spread.median},
                {"most_ns", spread.most}});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"rounds", "2000"},
                                     {"bytes", "8;256;4096;65536"},
                                     {"alone-bytes", std::to_string(trigger_options{}.alone_bytes)},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& bytes : args.list("bytes")) {
                for (const how kind : {how::direct, how::trigger, how::chain}) {
                    measure(args, devices, kind, std::stoull(bytes), json);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_triggers: %s\n", e.what());
        return 1;
    }
}
