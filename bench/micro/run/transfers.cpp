// Transfers by shape, size and method: the time of a lone one, from its post until the lane sees that it is done, and
// bytes a second where many are posted at once.
//
//   bench_transfers --devices "cuda:0;cuda:0-1" --methods "automatic;lanes;warps;bulk;engine" --shapes
//   "copy;strided;gather" --bytes "64;4096;262144" --total-mb 512 --row-bytes 256 --posters "lanes;one"
//   --service "static;supervised" --json FILE
// From PE 0's memory to that of the last PE. Lone transfers are posted by one lane. Those at once by all lanes that PE
// 0 has, with --posters lanes, or by one of them: `depth` of them a round, or as many as move `total-mb` where that is
// not 0. Where that is less than the L2 cache of a GPU holds, bytes a second are those of its cache. Strided rows lie
// two apart at both ends, gathered ones in reverse. `plain`: a lane copies the words itself instead, beside the
// transfers of the same run. What has arrived is checked.
#include <exception>
#include <vector>

#include "bench_support.hpp"
#include "laneway/run/transfers.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

enum class shape : std::uint32_t { copy, strided, gather };

/// Posts rounds of transfers, and waits for each round. Lane 0 of PE 0 measures.
struct post_rounds {
    shape what;
    std::uint64_t rounds, depth;
    std::uint64_t words, row;  ///< of a transfer, and of its rows
    std::uint32_t alone;       ///< 1: one lane posts
    symmetric_ref<std::uint64_t> from, to;
    symmetric_ref<std::uint32_t> indices;
    symmetric_ref<std::uint64_t> times;  ///< of lone transfers, of rounds, of plain copies; `rounds` each
    symmetric_ref<std::uint64_t> meets;  ///< rounds that have begun; lanes that have posted, in all

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const std::uint64_t lanes = alone != 0 ? 1 : ctx.local_size();
        if (ctx.rank() >= lanes) return;
        std::uint64_t* const begun = address(ctx, meets[0], 0);
        std::uint64_t* const posted = address(ctx, meets[1], 0);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (ctx.rank() == 0 && !post_lone(ctx, moves, round)) return;
            if (ctx.rank() == 0) ctx.store(begun, round + 1, order::release, scope::device);
            if (!reaches(ctx, begun, round + 1)) return;
            const std::uint64_t start = ctx.now_ns();
            for (std::uint64_t i = ctx.rank(); i < depth; i += lanes) {
                if (moves.post(ctx, transfer_of(ctx, i).under(0)).code != status::ok) return;
            }
            ctx.fetch_add(posted, std::uint64_t{1}, order::release, scope::device);
            if (ctx.rank() != 0) continue;
            if (!reaches(ctx, posted, (round + 1) * lanes) || moves.wait_key(ctx, 0) != status::ok) return;
            times.local(ctx)[rounds + round] = ctx.now_ns() - start;
        }
    }

    /// Words of either array that a transfer lies in.
    [[nodiscard]] LANEWAY_FN std::uint64_t span() const { return what == shape::strided ? 2 * words : words; }

private:
    template <class Ctx>
    static LANEWAY_FN bool reaches(Ctx& ctx, const std::uint64_t* word, std::uint64_t value) {
        const auto done = [&] { return ctx.load(word, order::acquire, scope::device) >= value; };
        return wait_until(ctx, {operation::user_code, -1, value}, done) == status::ok;
    }
    /// A transfer that is alone, and the same copy by the lane itself.
    template <class Ctx, class Transfers>
    LANEWAY_FN bool post_lone(Ctx& ctx, Transfers& moves, std::uint64_t round) const {
        std::uint64_t start = ctx.now_ns();
        const auto sent = moves.post(ctx, transfer_of(ctx, 0));
        if (sent.code != status::ok || moves.wait(ctx, sent.value) != status::ok) return false;
        times.local(ctx)[round] = ctx.now_ns() - start;
        start = ctx.now_ns();
        copy_bytes(reinterpret_cast<std::byte*>(address(ctx, to[depth * span()], ctx.n_pes() - 1)),
                   reinterpret_cast<const std::byte*>(address(ctx, from[0], ctx.pe())), words * 8);
        ctx.fence(scope::system);
        times.local(ctx)[2 * rounds + round] = ctx.now_ns() - start;
        return true;
    }
    template <class Ctx>
    LANEWAY_FN transfer transfer_of(Ctx& ctx, std::uint64_t number) const {
        const auto source = from[number * span()], target = to[number * span()];
        const int last = ctx.n_pes() - 1;
        switch (what) {
            case shape::copy: return transfer::copy(source, ctx.pe(), target, last, words);
            case shape::strided:
                return transfer::strided(source, ctx.pe(), 2 * row, target, last, 2 * row, words / row, row);
            default: return transfer::gather(source, ctx.pe(), indices[0], target, last, words / row, row);
        }
    }
};

template <class Kind>
Kind kind_of(const std::string& name, const std::vector<std::string>& names, const char* what) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw usage_error(std::string("no such ") + what + ": " + name);
    return static_cast<Kind>(found - names.begin());
}

const std::vector<std::string> shapes{"copy", "strided", "gather"};
const std::vector<std::string> methods{"automatic", "lanes", "warps", "bulk", "engine"};
const std::vector<std::string> posters{"lanes", "one"};
const std::vector<std::string> services{"static", "supervised"};

void check(const post_rounds& program, const std::vector<std::uint64_t>& from, const std::vector<std::uint64_t>& to) {
    const std::uint64_t rows = program.words / program.row, pitch = program.span() / rows;
    for (std::uint64_t i = 0; i < program.depth; ++i) {
        for (std::uint64_t row = 0; row < rows; ++row) {
            const std::uint64_t source = program.what == shape::gather ? rows - 1 - row : row;
            for (std::uint64_t word = 0; word < program.row; ++word) {
                const std::uint64_t base = i * program.span() + word;
                if (to[base + row * pitch] == from[base + source * pitch]) continue;
                throw device_fault("a transfer has not brought what it should");
            }
        }
    }
}

struct found {
    bench::spread lone, round, plain;  ///< ns
    transfer_statistics moved;
};

found run(const bench::arguments& args, const std::string& devices, const std::string& method,
          const std::string& service, post_rounds program) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    runtime rt(o);
    const std::uint64_t size = (program.depth + 1) * program.span();
    auto from = rt.allocate<std::uint64_t>(size);
    const auto to = rt.allocate<std::uint64_t>(size);
    auto indices = rt.allocate<std::uint32_t>(program.words);
    const auto times = rt.allocate<std::uint64_t>(3 * program.rounds);
    const auto meets = rt.allocate<std::uint64_t>(2);
    std::vector<std::uint64_t> values(size);
    for (std::uint64_t i = 0; i < size; ++i) values[i] = i * 0x9e37'79b9'7f4a'7c15 + 1;
    std::vector<std::uint32_t> reverse(program.words);
    const std::uint64_t rows = program.words / program.row;
    for (std::uint64_t i = 0; i < rows; ++i) reverse[i] = static_cast<std::uint32_t>(rows - 1 - i);
    from.copy_in(0, values);
    indices.copy_in(0, reverse);
    program.from = from.ref();
    program.to = to.ref();
    program.indices = indices.ref();
    program.times = times.ref();
    program.meets = meets.ref();
    transfer_options how;
    how.method = kind_of<transfer_method>(method, methods, "method");
    how.by = kind_of<transfer_service>(service, services, "service");
    how.server_share = args.real("server-share");
    how.engine_bytes = how.method == transfer_method::engine ? 1 : args.number("engine-bytes");
    transfers moves(rt.machine(), how);
    rt.run(program, moves);
    check(program, values, to.copy_out(rt.n_pes() - 1));
    const auto all = times.copy_out(0);
    const auto spread = [&](std::uint64_t part) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(part * program.rounds);
        return bench::spread_of({first, first + static_cast<std::ptrdiff_t>(program.rounds)});
    };
    return {spread(0), spread(1), spread(2), moves.statistics()};
}

void measure(const bench::arguments& args, const std::string& devices, const std::string& service,
             const std::string& form, const std::string& method, const std::string& posting, std::uint64_t bytes,
             bench::json_lines& json) {
    post_rounds program{};
    program.what = kind_of<shape>(form, shapes, "shape");
    program.rounds = args.number("rounds");
    program.depth = args.number("depth");
    program.words = bytes / 8;
    program.row = program.what == shape::copy ? program.words : args.number("row-bytes") / 8;
    if (program.words == 0 || program.rounds == 0 || program.depth == 0 || program.row == 0) {
        throw usage_error("bytes and row-bytes: 8 at least; rounds and depth: 1");
    }
    if (program.row > program.words) program.row = program.words;
    program.words = program.words / program.row * program.row;
    program.alone = kind_of<std::uint32_t>(posting, posters, "posters");
    if (const std::uint64_t total = args.number("total-mb") << 20; total != 0) {
        program.depth = (total + program.words * 8 - 1) / (program.words * 8);
    }
    const found result = run(args, devices, method, service, program);
    const double moved = static_cast<double>(program.words * 8 * program.depth);
    std::printf(
        "%-10s %-10s %-8s %-10s %-5s %9llu B  lone: median %9.0f ns (plain %9.0f)  %7llu at once: %8.3f GB/s  lanes "
        "%llu "
        "warps %llu bulk %llu engine %llu\n",
        devices.c_str(), service.c_str(), form.c_str(), method.c_str(), posting.c_str(),
        static_cast<unsigned long long>(program.words * 8), result.lone.median, result.plain.median,
        static_cast<unsigned long long>(program.depth), moved / result.round.median,
        static_cast<unsigned long long>(result.moved.by[1].transfers),
        static_cast<unsigned long long>(result.moved.by[2].transfers),
        static_cast<unsigned long long>(result.moved.by[3].transfers),
        static_cast<unsigned long long>(result.moved.by[4].transfers));
    json.write({{"benchmark", "transfers"},
                {"devices", devices},
                {"service", service},
                {"shape", form},
                {"method", method},
                {"posters", posting}},
               {{"bytes", static_cast<double>(program.words * 8)},
                {"row_bytes", static_cast<double>(program.row * 8)},
                {"rounds", static_cast<double>(program.rounds)},
                {"depth", static_cast<double>(program.depth)},
                {"lone_least_ns", result.lone.least},
                {"lone_median_ns", result.lone.median},
                {"lone_most_ns", result.lone.most},
                {"plain_median_ns", result.plain.median},
                {"gb_per_s", moved / result.round.median},
                {"min_gb_per_s", moved / result.round.most},
                {"max_gb_per_s", moved / result.round.least},
                {"by_lanes", static_cast<double>(result.moved.by[1].transfers)},
                {"by_warps", static_cast<double>(result.moved.by[2].transfers)},
                {"by_bulk", static_cast<double>(result.moved.by[3].transfers)},
                {"by_engine", static_cast<double>(result.moved.by[4].transfers)},
                {"bulk_bytes", static_cast<double>(result.moved.by[3].bytes)},
                {"lent_pieces", static_cast<double>(result.moved.lent_pieces)},
                {"max_lent", static_cast<double>(result.moved.max_lent)}});
}

void measure_sizes(const bench::arguments& args, const std::string& devices, const std::string& service,
                   const std::string& form, const std::string& method, bench::json_lines& json) {
    for (const auto& posting : args.list("posters")) {
        for (const auto& bytes : args.list("bytes")) {
            measure(args, devices, service, form, method, posting, std::stoull(bytes), json);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1;cpu:2"},
                                     {"service", "static"},
                                     {"shapes", "copy;strided;gather"},
                                     {"methods", "automatic;lanes;warps;bulk"},
                                     {"bytes", "64;4096;262144"},
                                     {"row-bytes", "256"},
                                     {"depth", "16"},
                                     {"total-mb", "0"},
                                     {"posters", "lanes;one"},
                                     {"rounds", "100"},
                                     {"server-share", "0.06"},
                                     {"engine-bytes", "0"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& service : args.list("service")) {
                for (const auto& form : args.list("shapes")) {
                    for (const auto& method : args.list("methods")) {
                        measure_sizes(args, devices, service, form, method, json);
                    }
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_transfers: %s\n", e.what());
        return 1;
    }
}
