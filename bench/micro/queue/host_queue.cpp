// 32-byte messages from all lanes of the devices to a few host threads: through the work-group queue, with groups of
// different sizes, beside a queue of single messages and a ring for each warp.
//
//   bench_host_queue --devices "cuda:0" --blocks 264 --threads "1;2;4" --messages-log2 27 --json FILE
// messages-log2: messages a PE. Styles: warp (32 lanes share a slot), rounds (a warp fills a slot of 128 columns),
// block (all warps of a block share one), single (one message a slot), rings. Every message carries a seal over its
// four words, and the sums of all words as the lanes sent them are compared with the sums of what the host threads
// read.
#include <exception>

#include "../../bench_support.hpp"
#include "laneway/queue/work_group_queue_memory.hpp"
#include "laneway/simt/machine.hpp"
#include "message_rings.hpp"

namespace {

using namespace laneway;

struct message {
    std::uint64_t words[4];
};
static_assert(sizeof(message) == 32);

constexpr std::uint64_t seal = 0x5bd1e995a2b3c4d7ULL;
constexpr std::uint32_t round_columns = 128;

LANEWAY_FN message numbered(std::uint64_t id) {
    const std::uint64_t a = (id + 1) * 0x9e3779b97f4a7c15ULL;
    const std::uint64_t b = a ^ a >> 31;
    return {{a, id, b, a ^ id ^ b ^ seal}};
}

/// Sums of words, by their place in the message.
struct alignas(destructive_bytes) tally {
    std::uint64_t sums[4] = {};
    std::uint64_t messages = 0;
    std::uint64_t broken = 0;  ///< bits of seals that do not fit

    LANEWAY_FN void add(const message& m) {
        for (int f = 0; f < 4; ++f) sums[f] += m.words[f];
        broken |= m.words[0] ^ m.words[1] ^ m.words[2] ^ m.words[3] ^ seal;
        ++messages;
    }
    void add(const tally& other) {
        for (int f = 0; f < 4; ++f) sums[f] += other.sums[f];
        broken |= other.broken;
        messages += other.messages;
    }
    void add(const message_columns<message>& batch) {
        const std::uint64_t* row[4] = {batch.row(0), batch.row(1), batch.row(2), batch.row(3)};
        std::uint64_t s[4] = {};
        std::uint64_t bits = 0;
        for (std::uint32_t c = 0; c < batch.size(); ++c) {
            for (int f = 0; f < 4; ++f) s[f] += row[f][c];
            bits |= row[0][c] ^ row[1][c] ^ row[2][c] ^ row[3][c] ^ seal;
        }
        for (int f = 0; f < 4; ++f) sums[f] += s[f];
        broken |= bits;
        messages += batch.size();
    }
    friend bool operator==(const tally&, const tally&) = default;
};

// The ways to send. `send` is called by all lanes of a block together and sends what `make(i)` gives for i below
// count<Ctx>().

struct by_warp {
    work_group_sender<message> queue;
    template <class Ctx>
    static constexpr std::uint32_t count() {
        return 1;
    }
    template <class Ctx, class Make>
    LANEWAY_FN status send(Ctx& ctx, Make&& make) const {
        return queue.push(ctx, make(0));
    }
};

struct by_rounds {
    work_group_sender<message> queue;
    template <class Ctx>
    static constexpr std::uint32_t count() {
        return round_columns / Ctx::warp_lanes;
    }
    template <class Ctx, class Make>
    LANEWAY_FN status send(Ctx& ctx, Make&& make) const {
        column_position position;
        const status reserved = once(ctx, full_warp<Ctx>, [&] { return queue.reserve(ctx, position); });
        if (reserved != status::ok) return reserved;
        const std::uint32_t slot = ctx.shuffle(full_warp<Ctx>, position.slot, 0);
        for (std::uint32_t i = 0; i < count<Ctx>(); ++i) {
            queue.write(slot, i * Ctx::warp_lanes + static_cast<std::uint32_t>(ctx.lane()), make(i));
        }
        queue.publish(ctx, full_warp<Ctx>, position, round_columns);
        return status::ok;
    }
};

struct by_block {
    work_group_sender<message> queue;
    template <class Ctx>
    static constexpr std::uint32_t count() {
        return 1;
    }
    template <class Ctx, class Make>
    LANEWAY_FN status send(Ctx& ctx, Make&& make) const {
        return queue.push_block(ctx, reinterpret_cast<group_state*>(ctx.shared()), true, make(0));
    }
};

struct single {
    work_group_sender<message> queue;
    template <class Ctx>
    static constexpr std::uint32_t count() {
        return 1;
    }
    template <class Ctx, class Make>
    LANEWAY_FN status send(Ctx& ctx, Make&& make) const {
        column_position position;
        const status reserved = queue.reserve(ctx, position);
        if (reserved != status::ok) return reserved;
        queue.write(position.slot, 0, make(0));
        queue.publish(ctx, lane_mask{1} << ctx.lane(), position, 1);
        return status::ok;
    }
};

struct by_rings {
    bench::message_rings_layout<message> rings;
    template <class Ctx>
    static constexpr std::uint32_t count() {
        return 1;
    }
    template <class Ctx, class Make>
    LANEWAY_FN status send(Ctx& ctx, Make&& make) const {
        return rings.push(ctx, static_cast<std::size_t>(ctx.block() * ctx.n_warps() + ctx.warp()), make(0));
    }
};

/// Every lane sends `each` messages and adds up what it sent.
template <class Style>
struct producer {
    static constexpr int cuda_warps = 8;
    Style style;
    std::uint64_t each;
    std::uint64_t first_id;
    tally* sent;  ///< PE memory

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        constexpr std::uint32_t step = Style::template count<Ctx>();
        const int warp = ctx.block() * ctx.n_warps() + ctx.warp();
        const auto lane = static_cast<std::uint64_t>(warp * Ctx::warp_lanes + ctx.lane());
        tally mine;
        for (std::uint64_t i = 0; i < each; i += step) {
            const auto make = [&](std::uint32_t round) {
                const message m = numbered(first_id + lane * each + i + round);
                mine.add(m);
                return m;
            };
            if (style.send(ctx, make) != status::ok) return;
        }
        for (int f = 0; f < 4; ++f) ctx.fetch_add(&sent->sums[f], mine.sums[f], order::relaxed, scope::device);
        ctx.fetch_add(&sent->messages, mine.messages, order::relaxed, scope::device);
    }
};

/// Host threads that add up what they read; thread i owns line i of every queue, or every n-th ring.
class reading : public host_service {
public:
    explicit reading(int threads) : tallies(static_cast<std::size_t>(threads)) {}

    [[nodiscard]] int threads() const override { return static_cast<int>(tallies.size()); }
    [[nodiscard]] std::string account() const override { return ""; }
    void audit() const override {}

    std::vector<tally> tallies;
};

class queue_reading final : public reading {
public:
    queue_reading(int threads, std::vector<work_group_queue<message>>& queues)
        : reading(threads), queues_(queues), lines_(tallies.size()) {}

    void open() override {
        for (auto& queue : queues_) queue.reset();
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            tallies[i] = {};
            lines_[i].clear();
            for (const auto& queue : queues_) lines_[i].push_back(queue.receiver(static_cast<int>(i)));
        }
    }
    bool turn(host_context& ctx, int thread) override {
        const auto i = static_cast<std::size_t>(thread);
        bool any = false;
        for (auto& line : lines_[i]) {
            const auto batch = line.peek(ctx);
            if (batch.empty()) continue;
            tallies[i].add(batch);
            line.release(ctx);
            any = true;
        }
        return any;
    }

private:
    std::vector<work_group_queue<message>>& queues_;
    std::vector<std::vector<work_group_receiver<message>>> lines_;
};

class ring_reading final : public reading {
public:
    ring_reading(int threads, std::vector<bench::message_rings<message>>& rings)
        : reading(threads), rings_(rings), readers_(tallies.size()) {}

    void open() override {
        for (auto& readers : readers_) readers.clear();
        std::size_t next = 0;
        for (auto& pe : rings_) {
            pe.reset();
            for (std::size_t r = 0; r < pe.rings(); ++r)
                readers_[next++ % readers_.size()].emplace_back(pe.layout(), r);
        }
        for (auto& t : tallies) t = {};
    }
    bool turn(host_context& ctx, int thread) override {
        const auto i = static_cast<std::size_t>(thread);
        bool any = false;
        for (auto& reader : readers_[i]) {
            any = reader.drain(ctx, [&](const message& m) { tallies[i].add(m); }) || any;
        }
        return any;
    }

private:
    std::vector<bench::message_rings<message>>& rings_;
    std::vector<std::vector<bench::message_reader<message>>> readers_;
};

class bench_run {
public:
    bench_run(const bench::arguments& args, const std::string& devices, bench::json_lines& json)
        : args_(args), devices_(devices), machine_(devices), json_(json) {
        const bool one_lane = machine_.device(0)->id().kind == device_kind::cpu;
        shape_.warps_per_block = one_lane ? 1 : static_cast<int>(args.number("warps"));
        shape_.blocks = static_cast<int>(args.number("blocks"));
        shape_.shared_bytes = sizeof(group_state);
        const int lanes = machine_.has_gpus() ? 32 : one_lane ? 1 : checked::context::warp_lanes;
        lanes_ = static_cast<std::uint64_t>(shape_.blocks * shape_.warps_per_block * lanes);
        block_columns_ = static_cast<std::uint32_t>(shape_.warps_per_block * lanes);
        each_ =
            std::max<std::uint64_t>(1, (std::uint64_t{1} << args.number("messages-log2")) / lanes_ / round_columns) *
            round_columns;
    }

    void measure(const std::string& style, int threads) {
        if (style == "warp") return queue<by_warp>(style, threads, 32);
        if (style == "rounds") return queue<by_rounds>(style, threads, round_columns);
        if (style == "block") return queue<by_block>(style, threads, block_columns_);
        if (style == "single") return queue<single>(style, threads, 1);
        if (style == "rings") return rings(style, threads);
        throw usage_error("no such style: " + style);
    }

private:
    /// Slots of a line: as many bytes on their way in all styles.
    [[nodiscard]] std::uint32_t slots(std::uint32_t columns, int threads) const {
        const std::uint64_t bytes = args_.number("queue-bytes") / sizeof(message) / columns;
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / static_cast<std::uint64_t>(threads)));
    }

    template <class Style>
    void queue(const std::string& name, int threads, std::uint32_t columns) {
        std::vector<work_group_queue<message>> queues;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            queues.emplace_back(machine_.device(pe), work_group_queue_shape{threads, slots(columns, threads), columns});
        }
        const auto host = std::make_shared<queue_reading>(threads, queues);
        repeat<Style>(name, host, [&](std::size_t pe) { return Style{queues[pe].sender()}; });
    }

    void rings(const std::string& name, int threads) {
        std::vector<bench::message_rings<message>> all;
        const auto count = static_cast<std::size_t>(shape_.blocks * shape_.warps_per_block);
        const auto room = args_.number("queue-bytes") / sizeof(message) / count / 32 * 32;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            all.emplace_back(machine_.device(pe), count, static_cast<std::uint32_t>(std::max<std::size_t>(64, room)));
        }
        const auto host = std::make_shared<ring_reading>(threads, all);
        repeat<by_rings>(name, host, [&](std::size_t pe) { return by_rings{all[pe].layout()}; });
    }

    template <class Style, class Make>
    void repeat(const std::string& name, const std::shared_ptr<reading>& host, Make&& style_of) {
        machine_.attach(host);
        std::vector<buffer<tally>> sent;
        std::vector<producer<Style>> programs;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            const auto p = static_cast<std::size_t>(pe);
            sent.emplace_back(machine_.device(pe), 1);
            programs.push_back({style_of(p), each_, lanes_ * each_ * p, sent[p].data()});
            const int fits = machine_.resident_blocks<producer<Style>>(pe, shape_);
            if (fits < shape_.blocks) throw usage_error("blocks: at most " + std::to_string(fits) + " are resident");
        }
        const std::vector<launch_shape> shapes(programs.size(), shape_);
        std::vector<double> seconds;
        for (std::uint64_t i = 0; i <= args_.number("runs"); ++i) {
            for (auto& s : sent) s.fill_bytes(0);
            const double time = machine_.run(programs, shapes, args_.real("timeout"), [] { return std::string{}; });
            check(sent, *host);
            if (i > 0) seconds.push_back(time);  // the first warms up
        }
        report(name, host->threads(), bench::spread_of(seconds));
    }

    void check(const std::vector<buffer<tally>>& sent, const reading& host) const {
        tally expected;
        for (const auto& s : sent) expected.add(s.copy_out()[0]);
        tally found;
        for (const auto& t : host.tallies) found.add(t);
        if (!(found == expected) || expected.messages != lanes_ * each_ * sent.size()) {
            throw device_fault("the host has not read what the lanes sent");
        }
    }

    void report(const std::string& style, int threads, const bench::spread& time) {
        const double messages = static_cast<double>(lanes_ * each_) * machine_.n_pes();
        const double rate = messages * sizeof(message) / 1e9;
        std::printf("%-10s %-8s %d threads %8.2f GB/s (%.2f to %.2f)  %6.2f ns a message and thread\n",
                    devices_.c_str(), style.c_str(), threads, rate / time.median, rate / time.most, rate / time.least,
                    time.median * 1e9 * threads / messages);
        std::fflush(stdout);
        json_.write({{"bench", "host queue"}, {"devices", devices_}, {"style", style}},
                    {{"gb_per_s", rate / time.median},
                     {"threads", static_cast<double>(threads)},
                     {"messages", messages},
                     {"message_bytes", sizeof(message)},
                     {"blocks", static_cast<double>(shape_.blocks)},
                     {"warps_per_block", static_cast<double>(shape_.warps_per_block)},
                     {"queue_bytes", args_.real("queue-bytes")},
                     {"median_s", time.median},
                     {"min_s", time.least},
                     {"max_s", time.most}});
    }

    const bench::arguments& args_;
    std::string devices_;
    machine machine_;
    bench::json_lines& json_;
    launch_shape shape_;
    std::uint64_t lanes_ = 0;
    std::uint64_t each_ = 0;
    std::uint32_t block_columns_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1"},
                                     {"styles", "warp;rounds;block;single;rings"},
                                     {"threads", "1;2;4"},
                                     {"messages-log2", "20"},
                                     {"blocks", "2"},
                                     {"warps", "8"},
                                     {"queue-bytes", "8388608"},
                                     {"runs", "5"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            bench_run bench(args, devices, json);
            for (const auto& style : args.list("styles")) {
                for (const auto& threads : args.list("threads")) bench.measure(style, std::stoi(threads));
            }
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_host_queue: %s\n", failure.what());
        return 1;
    }
    return 0;
}
