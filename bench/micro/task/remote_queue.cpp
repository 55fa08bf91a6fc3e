// Remote queues: from a lane's post until the completion signal of the function has come back, and commands a second
// when all lanes post.
//
//   bench_remote_queue --devices "cuda:0;cuda:0-1" --rounds 2000 --commands 100000000 --json FILE
// lone: one lane of PE 0 posts to the last PE and waits for its signal, round after round; `signal` beside it: that
// lane raises a word of the last PE and a lane there answers, without a queue. kernel: the same through the host's
// launch thread, whose function does nothing. host: a host thread's call in a session. bulk: all lanes post to all PEs
// functions for single lanes, for warps or for blocks. Each checks that everything has run, once.
#include <chrono>
#include <exception>
#include <vector>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/remote_queue.hpp"

namespace {

using namespace laneway;
using clock_type = std::chrono::steady_clock;

/// Counts commands, once for all lanes that run one.
template <width Width>
struct count_as {
    using arguments = std::uint64_t;
    static constexpr lw::width width = Width;
    symmetric_ref<std::uint64_t> sum;  ///< of a PE, one a block of 64 bytes

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& value, Worker& worker) const {
        if (worker.lane() == 0) {
            const auto block = static_cast<std::uint64_t>(ctx.block() * ctx.n_warps() + ctx.warp());
            atomic_add(ctx, sum[block % 1024 * 8], value, scope::device);
        }
    }
};
using count_lane = count_as<width::lane>;
using count_warp = count_as<width::warp>;
using count_block = count_as<width::block>;
using queue = remote_queue<count_lane, count_warp, count_block>;

template <class Ctx>
LANEWAY_FN bool leads(const Ctx& ctx) {
    return ctx.local_rank() == 0;
}

enum class how : std::uint32_t { function, kernel, signal };
constexpr const char* names[] = {"lone", "kernel", "signal"};

/// One lane of PE 0 has the last PE do something, and waits for its signal.
struct go_and_return {
    how kind;
    std::uint64_t rounds;
    std::uint32_t kernel;
    symmetric_ref<std::uint64_t> times;
    symmetric_ref<std::uint64_t> words;  ///< word 0: the completion signal, signal 0; word 1: a request without a queue

    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const int last = ctx.n_pes() - 1;
        if (!leads(ctx)) return;
        if (ctx.pe() == 0) {
            for (std::uint64_t round = 1; round <= rounds; ++round) {
                const std::uint64_t start = ctx.now_ns();
                if (!ask(ctx, remote, last, round) || remote.wait_signal(ctx, 0, round) != status::ok) return;
                times.local(ctx)[round - 1] = ctx.now_ns() - start;
            }
        } else if (kind == how::signal && ctx.pe() == last) {
            for (std::uint64_t round = 1; round <= rounds; ++round) {
                if (remote.wait_signal(ctx, 1, round) != status::ok) return;
                ctx.store(address(ctx, words[0], 0), round, order::release, scope::system);
            }
        }
    }

private:
    template <class Ctx, class Remote>
    LANEWAY_FN bool ask(Ctx& ctx, Remote& remote, int pe, std::uint64_t round) const {
        const remote_request told{0, {0, 0, 1}};
        if (kind == how::function) return remote.post(ctx, pe, task<count_lane>, 1, told) == status::ok;
        if (kind == how::kernel) return remote.launch(ctx, pe, kernel, {}, {}, told) == status::ok;
        ctx.store(address(ctx, words[1], pe), round, order::release, scope::system);
        return true;
    }
};

/// Every lane posts its part of the commands, to one PE after the other.
template <class Function>
struct post_all {
    std::uint64_t commands;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        // Lanes of a warp post to the same PE, as they share slots.
        const auto warp = ctx.rank() / static_cast<unsigned>(Ctx::warp_lanes);
        for (std::uint64_t i = ctx.rank(), turn = warp; i < commands; i += ctx.size(), ++turn) {
            if (remote.post(ctx, static_cast<int>(turn % pes), task<Function>, 1) != status::ok) return;
        }
    }
};

class measurement {
public:
    measurement(const bench::arguments& args, const std::string& devices, bench::json_lines& json)
        : args_(args), devices_(devices), json_(json), runtime_(job(args, devices)),
          sums_(runtime_.allocate<std::uint64_t>(8 * 1024)), words_(runtime_.allocate<std::uint64_t>(2)),
          remote_(runtime_.machine(), {.slots = static_cast<std::uint32_t>(args.number("slots"))},
                  count_lane{sums_.ref()}, count_warp{sums_.ref()}, count_block{sums_.ref()}) {
        (void)remote_.signal(words_, 0);
        (void)remote_.signal(words_, 1);
        kernel_ = remote_.kernel("nothing", [](const launch_request&) {});
    }

    void run() {
        if (runtime_.n_pes() > 1) lone(how::signal);
        lone(how::function);
        lone(how::kernel);
        from_host();
        bulk<count_lane>("bulk lane", args_.number("commands"));
        bulk<count_warp>("bulk warp", args_.number("commands") / 32);
        bulk<count_block>("bulk block", args_.number("commands") / 256);
    }

private:
    static options job(const bench::arguments& args, const std::string& devices) {
        options o;
        o.devices = devices;
        o.timeout_seconds = args.real("timeout");
        o.lease_seconds = 0;
        return o;
    }

    void lone(how kind) {
        const std::uint64_t rounds = args_.number("rounds");
        const auto times = runtime_.allocate<std::uint64_t>(rounds);
        words_.clear();
        sums_.clear();
        runtime_.run(go_and_return{kind, rounds, kernel_, times.ref(), words_.ref()}, remote_);
        if (words_.copy_out(0)[0] != rounds || total() != (kind == how::function ? rounds : 0)) {
            throw device_fault("some command was lost");
        }
        std::vector<double> ns;
        for (const std::uint64_t time : times.copy_out(0)) ns.push_back(static_cast<double>(time));
        tell(names[static_cast<int>(kind)], ns);
    }

    void from_host() {
        sums_.clear();
        std::vector<double> ns;
        {
            auto session = runtime_.start(remote_);
            for (std::uint64_t round = 0; round < args_.number("rounds"); ++round) {
                const auto start = clock_type::now();
                remote_.call<count_warp>(runtime_.n_pes() - 1, 1);
                ns.push_back(std::chrono::duration<double, std::nano>(clock_type::now() - start).count());
            }
            session.stop();
        }
        if (total() != args_.number("rounds")) throw device_fault("some command was lost");
        tell("host", ns);
    }

    template <class Function>
    void bulk(const std::string& name, std::uint64_t commands) {
        sums_.clear();
        const double seconds = runtime_.run(post_all<Function>{commands}, remote_).run_seconds;
        if (total() != commands || remote_.statistics().run != commands) throw device_fault("some command was lost");
        const double rate = static_cast<double>(commands) / seconds;
        std::printf("%-10s %-12s %12llu commands %12.3f M/s\n", devices_.c_str(), name.c_str(),
                    static_cast<unsigned long long>(commands), rate / 1e6);
        json_.write({{"benchmark", "remote_queue"}, {"devices", devices_}, {"operation", name}},
                    {{"commands", static_cast<double>(commands)}, {"seconds", seconds}, {"rate", rate}});
    }

    void tell(const std::string& name, const std::vector<double>& ns) {
        const auto spread = bench::spread_of(ns);
        std::printf("%-10s %-12s least %8.0f ns   median %8.0f ns   most %8.0f ns\n", devices_.c_str(), name.c_str(),
                    spread.least, spread.median, spread.most);
        json_.write({{"benchmark", "remote_queue"}, {"devices", devices_}, {"operation", name}},
                    {{"rounds", static_cast<double>(ns.size())},
                     {"least_ns", spread.least},
                     {"median_ns", spread.median},
                     {"most_ns", spread.most}});
    }

    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            for (const std::uint64_t part : sums_.copy_out(pe)) sum += part;
        }
        return sum;
    }

    const bench::arguments& args_;
    std::string devices_;
    bench::json_lines& json_;
    runtime runtime_;
    symmetric_array<std::uint64_t> sums_;
    symmetric_array<std::uint64_t> words_;
    queue remote_;
    std::uint32_t kernel_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1;cpu:2"},
                                     {"rounds", "2000"},
                                     {"commands", "1000000"},
                                     {"slots", std::to_string(remote_queue_options{}.slots)},
                                     {"timeout", "60"},
                                     {"json", ""}});
        if (args.number("rounds") == 0) throw usage_error("rounds: 1 at least");
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measurement(args, devices, json).run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_remote_queue: %s\n", e.what());
        return 1;
    }
}
