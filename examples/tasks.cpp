// Pi by darts: many small tasks, given by the host, that the devices' workers do while the program stays there.
//
//   tasks [DEVICES]
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

#include "laneway/runtime.hpp"
#include "laneway/task/task_pool.hpp"

namespace {

/// How many of a task's darts hit the quarter of a circle. The worker's lanes throw one in `lanes` each.
struct throw_darts {
    struct arguments {
        std::uint64_t first;
        std::uint64_t count;
    };
    using result = std::uint64_t;

    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& darts, Worker& worker) const {
        if (darts.count == 0 && worker.lane() == 0) worker.fail(no_darts);
        std::uint64_t hits = 0;
        for (auto i = static_cast<std::uint64_t>(worker.lane()); i < darts.count;
             i += static_cast<std::uint64_t>(worker.lanes())) {
            const std::uint64_t place = mixed(darts.first + i), x = place >> 32, y = place & 0xffffffff;
            hits += x * x / 2 + y * y / 2 < std::uint64_t{1} << 63 ? 1 : 0;
        }
        return lw::warp_sum(ctx, hits);
    }

    static constexpr std::uint32_t no_darts = 1;

private:
    /// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
    static LANEWAY_FN std::uint64_t mixed(std::uint64_t number) {
        std::uint64_t z = number * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
};

int run(const char* devices) {
    constexpr std::uint64_t darts = 1'000;  // of a task
    lw::options options;
    options.devices = devices;
    lw::runtime runtime(options);
    lw::task_pool pool(throw_darts{});
    auto session = runtime.start(pool);

    auto one = pool.submit<throw_darts>({.first = 0, .count = darts});
    std::printf("one task: %llu hits\n", static_cast<unsigned long long>(one.get()));

    std::vector<throw_darts::arguments> many;
    for (std::uint64_t i = 0; i < 2'000; ++i) many.push_back({i * darts, darts});
    auto batch = pool.submit_many<throw_darts>(many);
    const auto hits = batch.get();
    const std::uint64_t sum = std::accumulate(hits.begin(), hits.end(), std::uint64_t{0});
    std::printf("%zu tasks: pi is about %.4f\n", hits.size(), 4.0 * static_cast<double>(sum) / (2'000.0 * darts));

    auto wrong = pool.submit<throw_darts>({.first = 0, .count = 0});
    auto behind = pool.submit<throw_darts>({.first = 0, .count = 1}, {.after = {wrong.id()}});
    for (auto* future : {&wrong, &behind}) {
        try {
            future->wait();
        } catch (const lw::task_failed& failed) {
            std::printf("failed with %u\n", failed.number());
        }
    }
    session.stop();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tasks: %s\n", error.what());
        return 1;
    }
}
