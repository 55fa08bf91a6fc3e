// The message of apps/ping_pong in plain CUDA, by one process: a kernel looks at it and adds 1 to each word, a copy
// takes it to the next GPU. Words and checks are those of bench_communication_styles.
//
//   plain_ping_pong --pes "1;2;4" --words 1 --steps 1000 --runs 5 --json FILE
#include <deque>

#include "all_gpus.cuh"
#include "style_times.hpp"
#include "warp_time.cuh"

namespace {

using namespace laneway;

constexpr int threads = 256;

/// Looks at a message behind so many hops, and adds 1 to its words.
__global__ void pass_on(const std::uint64_t* in, std::uint64_t* out, std::uint64_t words, std::uint64_t hops,
                        unsigned long long* wrong, std::uint64_t* clock) {
    const bench::warp_time spent(clock);
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
         i += std::uint64_t{gridDim.x} * blockDim.x) {
        const std::uint64_t word = in[i];
        if (word != i + hops) atomicAdd(wrong, 1ull);
        out[i] = word + 1;
    }
    spent.add();
}

/// What a GPU has of the message.
struct place {
    explicit place(std::uint64_t words) : in(words), out(words), wrong(1), clock(1) {}

    bench::device_words in, out, wrong, clock;
};

class passed_message {
public:
    passed_message(int pes, std::uint64_t words) : gpus_(pes), words_(words) {
        for (int pe = 0; pe < pes; ++pe) {
            gpus_.choose(pe);
            places_.emplace_back(words);
        }
        const auto full = static_cast<std::uint64_t>(bench::full_grid(pass_on, threads));
        blocks_ = static_cast<unsigned>(std::min<std::uint64_t>((words + threads - 1) / threads, full));
    }

    /// `hops` times. `waits`: the host waits for each kernel and each copy; else events stand between them.
    bench::timed_run run(std::uint64_t hops, bool waits) {
        begin();
        const double start = bench::now_seconds();
        for (std::uint64_t hop = 0; hop < hops; ++hop) pass(hop, waits);
        gpus_.wait_for_all();
        bench::timed_run made{bench::now_seconds() - start, 0};
        for (int pe = 0; pe < gpus_.size(); ++pe) {
            gpus_.choose(pe);
            made.computing_seconds += bench::take_seconds(at(pe).clock) / gpus_.size();
            if (at(pe).wrong.read(0) != 0) throw device_fault("the message is wrong");
        }
        return made;
    }

private:
    [[nodiscard]] place& at(int pe) { return places_[static_cast<std::size_t>(pe)]; }

    void begin() {
        std::vector<std::uint64_t> first(words_);
        for (std::uint64_t i = 0; i < words_; ++i) first[i] = i;
        gpus_.choose(0);
        bench::check(cudaMemcpy(at(0).in.data(), first.data(), words_ * sizeof first[0], cudaMemcpyHostToDevice),
                     "the first message");
        gpus_.wait_for_all();
    }
    void pass(std::uint64_t hop, bool waits) {
        const int pe = static_cast<int>(hop % static_cast<std::uint64_t>(gpus_.size()));
        const int next = (pe + 1) % gpus_.size();
        gpus_.choose(pe);
        if (!waits && hop > 0 && gpus_.size() > 1) gpus_.hold(pe, previous(pe), hop - 1);
        pass_on<<<blocks_, threads, 0, gpus_.stream(pe)>>>(at(pe).in.data(), at(pe).out.data(), words_, hop,
                                                           reinterpret_cast<unsigned long long*>(at(pe).wrong.data()),
                                                           at(pe).clock.data());
        bench::check(cudaGetLastError(), "launching a kernel");
        if (waits) gpus_.wait(pe);
        gpus_.copy(at(next).in.data(), next, at(pe).out.data(), pe, words_ * sizeof(std::uint64_t));
        if (waits) gpus_.wait(pe);
        if (!waits) gpus_.mark(pe, hop);
    }
    [[nodiscard]] int previous(int pe) const { return (pe + gpus_.size() - 1) % gpus_.size(); }

    bench::all_gpus gpus_;
    std::uint64_t words_;
    unsigned blocks_ = 1;
    std::deque<place> places_;  // they stay where they are
};

void measure(int pes, const bench::arguments& args) {
    const std::uint64_t words = args.number("words", 1, std::uint64_t{1} << 33);
    const std::uint64_t hops = args.number("steps", 1, 1u << 20) * static_cast<std::uint64_t>(pes);
    passed_message message(pes, words);
    bench::json_lines json(args.text("json"));
    for (const bool waits : {true, false}) {
        const auto times = bench::times_of(args.number("runs", 1, 1000), static_cast<double>(hops),
                                           [&] { return message.run(hops, waits); });
        times.show(
            "ping_pong", bench::gpu_names(pes), waits ? "cuda, host_driven" : "cuda, stream",
            {{"bytes", static_cast<double>(words * sizeof(std::uint64_t))}, {"steps", static_cast<double>(hops)}},
            json);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"pes", "1"}, {"words", "1"}, {"steps", "1000"}, {"runs", "5"}, {"json", ""}});
        for (const std::uint64_t pes : args.numbers("pes", ';', 1, 64)) measure(static_cast<int>(pes), args);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "plain_ping_pong: %s\n", failure.what());
        return 1;
    }
}
