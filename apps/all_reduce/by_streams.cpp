// Stream-triggered: kernels, copies and what they wait for are put into the devices' streams, and go off at the ends of
// kernels; the host waits for none of them.
#include "all_reduce/stream_array.hpp"

namespace laneway::apps {

namespace {

/// Adds up a PE's own pieces.
struct reduce_own {
    array_view<float*> array;
    float* staged;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto mine = working_warp::of(ctx);
        const std::uint64_t end = array.shape.first_piece(ctx.pe() + 1);
        for (std::uint64_t p = array.shape.first_piece(ctx.pe()) + mine.number; p < end; p += mine.warps) {
            array.reduce(ctx, p, staged);
        }
    }
};

/// A device with its streams.
class stream_pe {
public:
    stream_pe(flow::context& ctx, const flow::endpoint& on, std::uint64_t elements)
        : array_(ctx, on, elements), staged_(ctx.allocate<float>(on, array_.shape().staged_elements())),
          sending_(ctx.make_stream(on, "sending")), adding_(ctx.make_stream(on, "adding")) {}

    [[nodiscard]] stream_array& array() { return array_; }
    void start_after(const event& mark) { array_.computing().wait(mark); }
    [[nodiscard]] event end() { return when_all({array_.computing().record(), sending_.record(), adding_.record()}); }

    void write(std::uint32_t round) {
        array_.write(round);
        written_ = array_.computing().record();
    }
    /// Copies numbers to the owners of their pieces.
    void send(const std::vector<stream_pe>& all) {
        const array_shape& shape = array_.shape();
        sending_.wait(written_);
        for (const stream_pe& owner : all) {
            const int to = owner.array_.pe();
            if (to == array_.pe()) continue;
            const std::uint64_t first = shape.first_of(to);
            sending_.copy(owner.staged_.get() + shape.staged_at(first, to, array_.pe()), array_.values() + first,
                          shape.count_of(to) * sizeof(float));
        }
        sent_ = sending_.record();
    }
    /// Adds up the PE's own pieces, and copies the sums to all.
    void reduce(const std::vector<stream_pe>& all) {
        const array_shape& shape = array_.shape();
        for (const stream_pe& sender : all) adding_.wait(sender.sent_);
        adding_.run(reduce_own{{shape, array_.values()}, staged_.get()});
        const std::uint64_t first = shape.first_of(array_.pe());
        for (const stream_pe& to : all) {
            if (to.array_.pe() == array_.pe()) continue;
            adding_.copy(to.array_.values() + first, array_.values() + first,
                         shape.count_of(array_.pe()) * sizeof(float));
        }
        given_ = adding_.record();
    }
    void verify(std::uint32_t round, const std::vector<stream_pe>& all) {
        for (const stream_pe& owner : all) array_.computing().wait(owner.given_);
        array_.verify(round);
    }

private:
    stream_array array_;
    std::shared_ptr<float> staged_;
    device_stream sending_;
    device_stream adding_;
    // In the round that was put into the streams last.
    event written_;
    event sent_;
    event given_;
};

}  // namespace

all_reduce_result reduce_by_streams(const all_reduce_options& options) {
    flow::context ctx(options.job);
    std::vector<stream_pe> all;
    for (const flow::endpoint& on : ctx.devices()) all.emplace_back(ctx, on, options.elements);
    common_start start;
    for (stream_pe& pe : all) pe.start_after(start.mark());
    for (std::uint32_t round = 0; round < options.rounds; ++round) {
        for (stream_pe& pe : all) pe.write(round);
        for (stream_pe& pe : all) pe.send(all);
        for (stream_pe& pe : all) pe.reduce(all);
        for (stream_pe& pe : all) pe.verify(round, all);
    }
    std::vector<event> ends;
    for (stream_pe& pe : all) ends.push_back(pe.end());
    const double seconds = start.seconds_until(ctx, ends, "adding up");
    all_reduce_result result;
    for (stream_pe& pe : all) pe.array().collect(ctx, result);
    result.seconds = seconds;
    return result;
}

}  // namespace laneway::apps
