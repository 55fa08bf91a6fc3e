// Time from a lane's trigger until the signal has landed on the other PE, there and back, against one-sided puts of the
// same size with a signal, which the lane makes itself; and of larger transfers, that waiting warps carry out.
//
//   bench_triggers --devices "cuda:0-1" --rounds 2000 --bytes "8;256;65536" --json FILE
// Times are a lane's own clock around a ping and its pong, halved, in ns; on GPUs the clock's step is 32 ns. `direct`:
// the lane stores the words, a fence and the signal. `trigger`: it triggers a prepared put with a signal; the lane that
// waits polls the signal alone. `chain`: the arrival triggers the way back, so no lane of the other PE takes part.
// `elsewhere`: as `trigger`, but the put brings data from the other PE's memory to itself, and it is that PE's tag
// which the lane triggers. On one PE there is no way back: from the trigger until the signal is seen, all in its own
// memory.
//
// Then streams of PE 0, in a session, a hundred rounds at once that are given beforehand: `words` stores a value and
// waits for it, without a program; `stream` triggers a prepared put with a signal by a stored value, and waits for the
// signal; `kernel` has a kernel of one warp add to the word instead. The host's clock, a round.
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

enum class how : std::uint32_t { direct, trigger, chain, elsewhere };
constexpr const char* names[] = {"direct", "trigger", "chain", "elsewhere"};

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
        if (ctx.local_rank() != 0 || (ctx.pe() != 0 && ctx.pe() != last)) return;
        if (ctx.pe() != 0 && kind == how::chain) return;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            if (ctx.pe() == 0) {
                *data.local(ctx) = round;
                if (!send(ctx, triggers, last, round)) return;
            }
            if (!wait(ctx, triggers, round)) return;
            if (ctx.pe() == last && last != 0 && !send(ctx, triggers, 0, round)) return;
            if (ctx.pe() == 0) times.local(ctx)[round - 1] = ctx.now_ns() - start;
        }
    }

private:
    template <class Ctx, class Triggers>
    LANEWAY_FN bool send(Ctx& ctx, Triggers& triggers, int to, std::uint64_t round) const {
        if (kind == how::elsewhere) {
            *address(ctx, data[0], to) = round;
            return triggers.trigger_on(ctx, to, 0) == status::ok;
        }
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
    if (program.kind == how::elsewhere) to = pe;
    auto op = trigger_operation::put(program.data, 0, program.words, program.data, program.words, to)
                  .signal(program.arrived[0]);
    if (program.kind == how::chain && pe == 0) op = op.then(to, 0);
    tags.prepare(pe, 0, 1, op, firing::each_round);
}

void tell(const std::string& devices, const std::string& name, std::uint64_t bytes, const std::vector<double>& ns,
          std::vector<std::pair<std::string, double>> numbers, bench::json_lines& json) {
    const auto spread = bench::spread_of(ns);
    std::printf("%-10s %-10s %8llu B   least %8.0f ns   median %8.0f ns   most %8.0f ns\n", devices.c_str(),
                name.c_str(), static_cast<unsigned long long>(bytes), spread.least, spread.median, spread.most);
    numbers.insert(numbers.end(), {{"bytes", static_cast<double>(bytes)},
                                   {"least_ns", spread.least},
                                   {"median_ns", spread.median},
                                   {"most_ns", spread.most}});
    json.write({{"benchmark", "triggers"}, {"devices", devices}, {"operation", name}}, numbers);
}

void measure(const bench::arguments& args, const std::string& devices, how kind, std::uint64_t bytes,
             bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    runtime rt(o);
    const std::uint64_t rounds = args.number("rounds"), words = bytes / sizeof(std::uint64_t);
    if (words == 0 || rounds == 0) throw usage_error("rounds and bytes: 1 and 8 at least");
    const auto data = rt.allocate<std::uint64_t>(2 * words);
    const auto arrived = rt.allocate<std::uint64_t>(1), times = rt.allocate<std::uint64_t>(rounds);
    const pass_data program{kind, rounds, words, data.ref(), arrived.ref(), times.ref()};
    const int last = rt.n_pes() - 1;
    auto tags = rt.triggers({.tags = 1, .alone_bytes = args.number("alone-bytes")});
    prepare(tags, program, 0, last);
    if (last != 0) prepare(tags, program, last, 0);
    rt.run(program, tags);
    if (data.copy_out(last)[words] != rounds) throw device_fault("the last round's data has not come");
    std::vector<double> ns;
    for (const std::uint64_t time : times.copy_out(0)) ns.push_back(static_cast<double>(time) / (last == 0 ? 1 : 2));
    tell(devices, names[static_cast<int>(kind)], bytes, ns,
         {{"rounds", static_cast<double>(rounds)}, {"alone_bytes", static_cast<double>(args.number("alone-bytes"))}},
         json);
}

enum class outside : std::uint32_t { words, stream, kernel };
constexpr const char* outside_names[] = {"words", "stream", "kernel"};

/// An ordinary kernel that triggers.
struct add_to_word {
    std::uint64_t* word;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.rank() == 0) ctx.fetch_add(word, 1, order::release, scope::system);
    }
};

/// Rounds of a stream, from the moment at which it may begin until it has ended.
class stream_rounds {
public:
    stream_rounds(const bench::arguments& args, const options& o, std::uint64_t words)
        : rt_(o), data_(rt_.allocate<std::uint64_t>(2 * words)), arrived_(rt_.allocate<std::uint64_t>(2)),
          tags_(rt_.triggers({.tags = 1, .alone_bytes = args.number("alone-bytes")})), go_(tags_.outside(0, 0)),
          stream_(rt_.stream(0, "measured")), gate_(rt_.stream(0, "gate")) {
        const int last = rt_.n_pes() - 1;
        const auto put = trigger_operation::put(data_.ref(), 0, words, data_.ref(), words, last);
        const auto come_back = [&](const trigger_operation& op) { return op.signal(arrived_.ref()[0]); };
        tags_.prepare(0, 0, 1, last == 0 ? come_back(put) : put.then(last, 0), firing::each_round);
        if (last == 0) return;
        tags_.prepare(last, 0, 1, come_back(trigger_operation::nothing(0)), firing::each_round);
    }
    /// ns a round of each batch.
    std::vector<double> measure(outside kind, std::uint64_t batches, std::uint64_t rounds) {
        auto session = rt_.start(tags_);
        std::vector<double> ns;
        for (std::uint64_t batch = 1; batch <= batches + 2; ++batch) {
            stream_.wait_value(arrived_.data(0) + 1, batch);
            for (std::uint64_t i = 0; i < rounds; ++i) give(kind);
            const event end = stream_.record();
            // A GPU has them all then; a CPU device takes one after the other.
            while (stream_.device().is_gpu() && stream_.waiting() > 0) std::this_thread::yield();
            const auto start = std::chrono::steady_clock::now();
            gate_.write_value(arrived_.data(0) + 1, batch);
            while (!end.wait_for(std::chrono::milliseconds(1000))) {
            }
            if (const auto why = end.failure()) std::rethrow_exception(why);
            const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
            if (batch > 2) ns.push_back(taken.count() / static_cast<double>(rounds));  // two are for warming up
        }
        session.stop();
        return ns;
    }

private:
    void give(outside kind) {
        ++given_;
        switch (kind) {
            case outside::words: stream_.write_value(arrived_.data(0), given_); break;
            case outside::stream: go_.trigger(stream_); break;
            case outside::kernel: go_.owe(1); stream_.run(add_to_word{go_.word()}, 1);
        }
        stream_.wait_value(arrived_.data(0), given_);
    }

    runtime rt_;
    symmetric_array<std::uint64_t> data_;
    symmetric_array<std::uint64_t> arrived_;  ///< and the gate
    triggers tags_;
    outside_trigger go_;
    device_stream stream_;
    device_stream gate_;
    std::uint64_t given_ = 0;
};

void measure_streams(const bench::arguments& args, const std::string& devices, outside kind, std::uint64_t bytes,
                     bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    o.gpu_blocks = 32;  // room for kernels beside the program
    constexpr std::uint64_t rounds = 100;
    const std::uint64_t batches = args.number("batches");
    const auto ns = stream_rounds(args, o, bytes / sizeof(std::uint64_t)).measure(kind, batches, rounds);
    tell(devices, outside_names[static_cast<int>(kind)], bytes, ns,
         {{"batches", static_cast<double>(batches)}, {"rounds", static_cast<double>(rounds)}}, json);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"rounds", "2000"},
                                     {"bytes", "8;256;4096;65536"},
                                     {"batches", "20"},
                                     {"alone-bytes", std::to_string(trigger_options{}.alone_bytes)},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& bytes : args.list("bytes")) {
                for (const how kind : {how::direct, how::trigger, how::chain, how::elsewhere}) {
                    const bool lone = parse_devices(devices).size() == 1;
                    if (lone && (kind == how::chain || kind == how::elsewhere)) continue;
                    measure(args, devices, kind, std::stoull(bytes), json);
                }
            }
            for (const outside kind : {outside::words, outside::stream, outside::kernel}) {
                measure_streams(args, devices, kind, 8, json);
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_triggers: %s\n", e.what());
        return 1;
    }
}
