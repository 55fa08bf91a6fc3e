// The Jacobi stencil of apps/jacobi in plain CUDA, by one process: a kernel of each GPU makes a step, and copies
// between GPUs bring the borders over. Values and checks are those of bench_jacobi.
//
//   plain_jacobi --pes "1;2;4" --rows 4096 --columns 4096 --steps 200 --runs 5 --json FILE
#include <deque>

#include "all_gpus.cuh"
#include "jacobi_job.cuh"

namespace {

using namespace laneway;

class plain_steps {
public:
    plain_steps(int pes, const bench::jacobi_job& job) : gpus_(pes) {
        for (int pe = 0; pe < pes; ++pe) {
            gpus_.choose(pe);
            parts_.emplace_back(pe, pes, job.rows, job.columns);
        }
    }

    /// All steps once. `waits`: the host waits for all kernels of a step, and for all copies; else events stand
    /// between them, and it waits for the last.
    bench::timed_run run(std::uint64_t steps, bool waits) {
        for (int pe = 0; pe < gpus_.size(); ++pe) {
            gpus_.choose(pe);
            parts_[index(pe)].reset();
        }
        gpus_.wait_for_all();
        const double start = bench::now_seconds();
        for (std::uint64_t step = 0; step < steps; ++step) make_step(step, waits);
        gpus_.wait_for_all();
        bench::timed_run made{bench::now_seconds() - start, 0};
        for (int pe = 0; pe < gpus_.size(); ++pe) {
            gpus_.choose(pe);
            made.computing_seconds += parts_[index(pe)].take_computing_seconds() / gpus_.size();
        }
        return made;
    }
    [[nodiscard]] bool matches(const bench::jacobi_job& job) const {
        for (int pe = 0; pe < gpus_.size(); ++pe) {
            gpus_.choose(pe);
            if (!parts_[index(pe)].matches(pe, job.steps, job.expected)) return false;
        }
        return true;
    }

private:
    static std::size_t index(int pe) { return static_cast<std::size_t>(pe); }

    void make_step(std::uint64_t step, bool waits) {
        for (int pe = 0; pe < gpus_.size(); ++pe) {
            gpus_.choose(pe);
            if (!waits && step > 0) {  // for the halo, and so for neighbours that have read what is now overwritten
                gpus_.hold(pe, pe - 1, step - 1);
                gpus_.hold(pe, pe + 1, step - 1);
            }
            parts_[index(pe)].compute(gpus_.stream(pe), step, 1, parts_[index(pe)].rows());
        }
        if (waits) gpus_.wait_for_all();
        for (int pe = 0; pe < gpus_.size(); ++pe) {
            gpus_.choose(pe);
            copy_border(step, pe, pe - 1);
            copy_border(step, pe, pe + 1);
            if (!waits) gpus_.mark(pe, step);
        }
        if (waits) gpus_.wait_for_all();
    }
    void copy_border(std::uint64_t step, int pe, int to) {
        if (to < 0 || to >= gpus_.size()) return;
        const bench::jacobi_part &mine = parts_[index(pe)], &other = parts_[index(to)];
        const double* const border = mine.row(step + 1, to < pe ? 1 : mine.rows());
        double* const halo = other.row(step + 1, to < pe ? other.rows() + 1 : 0);
        gpus_.copy(halo, to, border, pe, mine.width() * sizeof(double));
    }

    bench::all_gpus gpus_;
    std::deque<bench::jacobi_part> parts_;  // they stay where they are
};

void measure(int pes, const bench::jacobi_job& job) {
    plain_steps all(pes, job);
    for (const bool waits : {true, false}) {
        const char* const style = waits ? "cuda, host_driven" : "cuda, stream";
        const auto times =
            bench::times_of(job.runs, static_cast<double>(job.steps), [&] { return all.run(job.steps, waits); });
        if (!all.matches(job)) throw device_fault(std::string(style) + ": values are wrong");
        job.show(times, pes, style);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        bench::for_each_jacobi(bench::arguments(argc, argv, bench::jacobi_arguments()), measure);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "plain_jacobi: %s\n", failure.what());
        return 1;
    }
}
