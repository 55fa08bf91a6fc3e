// The Jacobi stencil of apps/jacobi as a coprocessor program does it: a kernel makes a step, and ncclSend and ncclRecv
// exchange the borders. Values and checks are those of bench_jacobi.
//
//   nccl_jacobi --pes "1;2;4" --rows 4096 --columns 4096 --steps 200 --runs 5 --json FILE
#include "jacobi_job.cuh"
#include "nccl_process.cuh"

namespace {

using namespace laneway;

enum class nccl_style {
    host_driven,  ///< the host waits for each kernel and each exchange
    stream,       ///< all are put into one stream; the host waits for the last
    overlapped,   ///< border rows first; their exchange goes on in a second stream beside the inner rows
};

constexpr nccl_style nccl_styles[] = {nccl_style::host_driven, nccl_style::stream, nccl_style::overlapped};

constexpr const char* to_string(nccl_style style) {
    switch (style) {
        case nccl_style::host_driven: return "nccl, host_driven";
        case nccl_style::stream: return "nccl, stream";
        default: return "nccl, overlapped";
    }
}

class nccl_steps {
public:
    nccl_steps(const bench::team& pes, ncclComm_t nccl, bench::jacobi_part& part)
        : pes_(pes), nccl_(nccl), part_(part) {
        for (auto* stream : {&work_, &exchange_}) {
            bench::check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "stream");
        }
        for (auto* event : {&written_, &come_}) {
            bench::check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "event");
        }
    }
    nccl_steps(const nccl_steps&) = delete;
    nccl_steps& operator=(const nccl_steps&) = delete;
    ~nccl_steps() {  // a failure shows at the next call
        for (auto* stream : {work_, exchange_}) (void)cudaStreamDestroy(stream);
        for (auto* event : {written_, come_}) (void)cudaEventDestroy(event);
    }

    void step(std::uint64_t number, nccl_style style) {
        if (style == nccl_style::overlapped) return overlapped(number);
        part_.compute(work_, number, 1, part_.rows());
        if (style == nccl_style::host_driven) wait();
        exchange(number, work_);
        if (style == nccl_style::host_driven) wait();
    }
    void wait() {
        for (auto* stream : {work_, exchange_}) bench::check(cudaStreamSynchronize(stream), "waiting for a step");
    }

private:
    void overlapped(std::uint64_t number) {
        const std::uint64_t rows = part_.rows();
        part_.compute(work_, number, 1, 1);
        if (rows > 1) part_.compute(work_, number, rows, 1);
        bench::check(cudaEventRecord(written_, work_), "event");
        bench::check(cudaStreamWaitEvent(exchange_, written_), "event");
        exchange(number, exchange_);
        if (rows > 2) part_.compute(work_, number, 2, rows - 2);
        bench::check(cudaEventRecord(come_, exchange_), "event");
        bench::check(cudaStreamWaitEvent(work_, come_), "event");
    }
    /// Borders of what the step has written go into the neighbours' halo.
    void exchange(std::uint64_t number, cudaStream_t stream) {
        const auto swap = [&](int other, std::uint64_t border, std::uint64_t halo) {
            if (other < 0 || other >= pes_.size()) return;
            bench::check(ncclSend(part_.row(number + 1, border), part_.width(), ncclDouble, other, nccl_, stream),
                         "send");
            bench::check(ncclRecv(part_.row(number + 1, halo), part_.width(), ncclDouble, other, nccl_, stream),
                         "receive");
        };
        bench::check(ncclGroupStart(), "group");
        swap(pes_.rank() - 1, 1, 0);
        swap(pes_.rank() + 1, part_.rows(), part_.rows() + 1);
        bench::check(ncclGroupEnd(), "exchange");
    }

    const bench::team& pes_;
    ncclComm_t nccl_;
    bench::jacobi_part& part_;
    cudaStream_t work_ = nullptr;
    cudaStream_t exchange_ = nullptr;
    cudaEvent_t written_ = nullptr;
    cudaEvent_t come_ = nullptr;
};

/// All steps once.
bench::timed_run run_once(bench::team& pes, bench::jacobi_part& part, std::uint64_t steps, nccl_style style,
                          nccl_steps& by) {
    part.reset();
    pes.meet();
    const double start = bench::now_seconds();
    for (std::uint64_t step = 0; step < steps; ++step) by.step(step, style);
    by.wait();
    const std::vector<double> ends = pes.gather(bench::now_seconds()), starts = pes.gather(start);
    double computing = 0;
    for (const double seconds : pes.gather(part.take_computing_seconds())) computing += seconds / pes.size();
    return {*std::ranges::max_element(ends) - *std::ranges::min_element(starts), computing};
}

void run_pe(bench::team& pes, const bench::jacobi_job& job) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    {
        bench::jacobi_part part(pes.rank(), pes.size(), job.rows, job.columns);
        nccl_steps by(pes, nccl, part);
        for (const nccl_style style : nccl_styles) {
            const auto times = bench::times_of(job.runs, static_cast<double>(job.steps),
                                               [&] { return run_once(pes, part, job.steps, style, by); });
            const bool right = part.matches(pes.rank(), job.steps, job.expected);
            if (!right) throw device_fault(std::string("nccl_jacobi: ") + to_string(style) + ": values are wrong");
            pes.meet();
            if (pes.rank() == 0) job.show(times, pes.size(), to_string(style));
        }
    }
    bench::check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, bench::jacobi_arguments());
        bench::for_each_jacobi(args, [&](int pes, const bench::jacobi_job& job) {
            bench::run_processes(pes, args.real("timeout"), [&](bench::team& team) { run_pe(team, job); });
        });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_jacobi: %s\n", failure.what());
        return 1;
    }
}
