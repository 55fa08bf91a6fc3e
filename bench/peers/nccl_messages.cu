// Messages with NCCL, from the host: ncclSend and ncclRecv on a stream. To be read beside `laneway study messaging`.
//
//   nccl_messages --pes "2;4" --patterns "ping-pong;stream" --bytes "8;4096;1048576" --rounds 1000 --json FILE
// A round trip is timed by the host of PE 0, which waits for its stream; streams by events of the PE that receives.
#include "messages_job.cuh"
#include "nccl_process.cuh"

namespace {

using namespace laneway;
using bench::message_job;
using bench::message_pattern;

/// Counts the words of a message that are as they should be.
__global__ void count_right(const std::uint64_t* message, std::uint64_t words, std::uint64_t first,
                            unsigned long long* right) {
    unsigned long long mine = 0;
    for (std::uint64_t k = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < words;
         k += std::uint64_t{gridDim.x} * blockDim.x) {
        if (message[k] == first + k) ++mine;
    }
    atomicAdd(right, mine);
}

/// One PE's part in messages of one pattern and size.
class message_rounds {
public:
    message_rounds(bench::team& pes, ncclComm_t nccl, const message_job& job)
        : pes_(pes), nccl_(nccl), job_(job), out_(job.words + message_job::margin),
          in_(job.words * static_cast<std::uint64_t>(pes.size())), right_(1) {
        bench::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        bench::check(cudaEventCreate(&start_), "event");
        bench::check(cudaEventCreate(&end_), "event");
        bench::fill_messages<<<64, 256>>>(job, pes.rank(), out_.data());
        bench::check(cudaDeviceSynchronize(), "filling messages");
        pes.meet();
    }
    message_rounds(const message_rounds&) = delete;
    message_rounds& operator=(const message_rounds&) = delete;
    ~message_rounds() {  // a failure shows at the next call
        (void)cudaEventDestroy(start_);
        (void)cudaEventDestroy(end_);
        (void)cudaStreamDestroy(stream_);
    }

    /// Times in ns that PE 0 saw.
    std::vector<double> ping_pong() {
        const int last = pes_.size() - 1, me = pes_.rank(), other = last - me;
        std::vector<double> times;
        for (std::uint64_t round = 0; (me == 0 || me == last) && round <= job_.rounds; ++round) {
            const double start = bench::now_seconds();
            if (me == 0) send(of_round(round), other);
            receive(in_.data(), other);
            if (me == last) send(in_.data(), other);
            bench::check(cudaStreamSynchronize(stream_), "passing a message");
            if (round > 0) times.push_back((bench::now_seconds() - start) * 1e9);
            if (me == 0) look_at(in_.data(), 0, round);
            bench::check(cudaStreamSynchronize(stream_), "checking a message");
        }
        return times;
    }

    /// Seconds that the messages took whom this PE received, but for those of the first round; 0 where it received
    /// none.
    double streams() {
        const bool all = job_.pattern == message_pattern::all_to_all;
        const int to = job_.receiver(pes_.size()), me = pes_.rank();
        const bool sends = all || job_.streams(me), receives = all || me == to;
        for (std::uint64_t round = 0; round <= job_.rounds; ++round) {
            bench::check(ncclGroupStart(), "group");
            for (int other = 0; other < pes_.size(); ++other) {
                if (other == me) continue;
                if (sends && (all || other == to)) send(of_round(round), other);
                if (receives && (all || job_.streams(other))) receive(from(other), other);
            }
            bench::check(ncclGroupEnd(), "exchange");
            for (int other = 0; receives && other < pes_.size(); ++other) {
                if (other != me && (all || job_.streams(other))) look_at(from(other), other, round);
            }
            if (round == 0) bench::check(cudaEventRecord(start_, stream_), "event");
        }
        bench::check(cudaEventRecord(end_, stream_), "event");
        bench::check(cudaStreamSynchronize(stream_), "exchanging messages");
        float ms = 0;
        bench::check(cudaEventElapsedTime(&ms, start_, end_), "event");
        return receives ? static_cast<double>(ms) * 1e-3 : 0;
    }

    [[nodiscard]] std::uint64_t right() const { return right_.read(0); }

private:
    [[nodiscard]] const std::uint64_t* of_round(std::uint64_t round) const {
        return out_.data() + message_job::shift_of(round);
    }
    [[nodiscard]] std::uint64_t* from(int source) const {
        return in_.data() + job_.words * static_cast<std::uint64_t>(source);
    }
    void send(const std::uint64_t* message, int to) {
        bench::check(ncclSend(message, job_.words, ncclUint64, to, nccl_, stream_), "send");
    }
    void receive(std::uint64_t* message, int source) {
        bench::check(ncclRecv(message, job_.words, ncclUint64, source, nccl_, stream_), "receive");
    }
    void look_at(const std::uint64_t* message, int source, std::uint64_t round) {
        const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(job_.words / 1024, 1, 1024));
        count_right<<<blocks, 256, 0, stream_>>>(message, job_.words,
                                                 message_job::word_of(source, 0, message_job::shift_of(round)),
                                                 reinterpret_cast<unsigned long long*>(right_.data()));
        bench::check(cudaGetLastError(), "checking a message");
    }

    bench::team& pes_;
    ncclComm_t nccl_;
    const message_job& job_;
    bench::device_words out_;
    bench::device_words in_;
    bench::device_words right_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t start_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

void run_pe(bench::team& pes, const bench::arguments& args) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    bench::for_each_message(args, [&](message_pattern pattern, const std::string& name, std::uint64_t bytes) {
        const message_job job{pattern, bytes / 8, bench::rounds_of(args.number("rounds"), bytes)};
        message_rounds messages(pes, nccl, job);
        std::vector<double> times;
        double seconds = 0;
        if (pattern == message_pattern::ping_pong) {
            times = messages.ping_pong();
            for (const double time : times) seconds += time * 1e-9;
        } else {
            seconds = messages.streams();
        }
        bench::check_messages(pes, job, messages.right(), "ncclSend");
        if (pes.rank() == job.receiver(pes.size())) {
            bench::tell_messages(args, job, pes.size(), "ncclSend", "host", name, times, seconds);
        }
        pes.meet();
    });
    bench::check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, bench::message_arguments());
        bench::for_each_team(args, [&](bench::team& pes) { run_pe(pes, args); });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_messages: %s\n", failure.what());
        return 1;
    }
}
