// The same message in memory of each device by itself, with the kernel that streams run: for the two styles that
// communicate at the ends of kernels.
#pragma once

#include "parallel/stream_job.hpp"
#include "ping_pong/message.hpp"

namespace laneway::apps {

/// One warp of a grid of one block passes the message on.
struct pass_once {
    std::uint64_t* in;
    std::uint64_t* out;
    std::uint64_t* account;
    std::uint64_t words;
    std::uint64_t hops;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (working_warp::of(ctx).number != 0) return;
        computing_time spent;
        std::uint64_t wrong = 0;
        spent.of(ctx, [&] { wrong = pass_on(ctx, in, out, words, hops); });
        spent.add_to(ctx, 1, account);
        if (wrong > 0) ctx.fetch_add(account + 1, wrong, order::relaxed, scope::device);
    }
};

/// A device's part.
class stream_message {
public:
    stream_message(flow::context& ctx, const flow::endpoint& on, std::uint64_t words)
        : pe_(on.device()), words_(words), in_(ctx.allocate<std::uint64_t>(on, words)),
          out_(ctx.allocate<std::uint64_t>(on, words)),
          account_(ctx.allocate<std::uint64_t>(on, message_account_words)), stream_(ctx.make_stream(on, "passing on")) {
        const auto first = first_message(words);
        const std::vector<std::uint64_t> zeros(message_account_words);
        stream_.copy(in_.get(), first.data(), words * sizeof(std::uint64_t));
        stream_.copy(account_.get(), zeros.data(), message_account_words * sizeof(std::uint64_t));
        ctx.wait(stream_.record(), "copying to a device");
    }

    [[nodiscard]] device_stream& stream() { return stream_; }

    void pass_on_after(std::uint64_t hops) {
        stream_.run(pass_once{in_.get(), out_.get(), account_.get(), words_, hops}, 1);
    }
    void copy_to(const stream_message& next) {
        stream_.copy(next.in_.get(), out_.get(), words_ * sizeof(std::uint64_t));
    }
    void collect(flow::context& ctx, ping_pong_result& result, std::size_t pes) {
        std::vector<std::uint64_t> message(words_), account(message_account_words);
        stream_.copy(message.data(), in_.get(), words_ * sizeof(std::uint64_t));
        stream_.copy(account.data(), account_.get(), message_account_words * sizeof(std::uint64_t));
        ctx.wait(stream_.record(), "copying to the host");
        if (pe_ == 0) result.message = message;
        result.computing_seconds += seconds_of(account[0]) / static_cast<double>(pes);
        result.wrong += account[1];
    }

private:
    int pe_;
    std::uint64_t words_;
    std::shared_ptr<std::uint64_t> in_;
    std::shared_ptr<std::uint64_t> out_;
    std::shared_ptr<std::uint64_t> account_;
    device_stream stream_;
};

}  // namespace laneway::apps
