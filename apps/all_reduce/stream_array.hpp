// The same array in memory of each device by itself, with the kernels that streams run: for the two styles that
// communicate at the ends of kernels.
#pragma once

#include "all_reduce/shared_array.hpp"
#include "parallel/stream_job.hpp"

namespace laneway::apps {

/// Writes a round's numbers.
struct write_numbers {
    array_view<float*> array;
    std::uint64_t* account;
    std::uint32_t round;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto mine = working_warp::of(ctx);
        computing_time spent;
        spent.of(ctx, [&] {
            for (std::uint64_t p = mine.number; p < array.shape.pieces(); p += mine.warps) array.write(ctx, p, round);
        });
        spent.add_to(ctx, mine.warps, account);
    }
};

/// Verifies a round's sums.
struct verify_sums {
    array_view<float*> array;
    std::uint64_t* account;
    std::uint32_t round;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto mine = working_warp::of(ctx);
        computing_time spent;
        std::uint64_t wrong = 0;
        spent.of(ctx, [&] {
            for (std::uint64_t p = mine.number; p < array.shape.pieces(); p += mine.warps) {
                wrong += array.wrong(ctx, p, round);
            }
        });
        spent.add_to(ctx, mine.warps, account);
        if (wrong > 0) ctx.fetch_add(account + 1, wrong, order::relaxed, scope::device);
    }
};

/// A device's part.
class stream_array {
public:
    stream_array(flow::context& ctx, const flow::endpoint& on, std::uint64_t elements)
        : on_(on), shape_{elements, ctx.devices().size()}, values_(ctx.allocate<float>(on, elements)),
          account_(ctx.allocate<std::uint64_t>(on, account_words)), computing_(ctx.make_stream(on, "computing")),
          blocks_(resident_grid<write_numbers, verify_sums>(computing_)) {
        const std::vector<std::uint64_t> zeros(account_words);
        computing_.copy(account_.get(), zeros.data(), account_words * sizeof(std::uint64_t));
        ctx.wait(computing_.record(), "clearing");
    }

    [[nodiscard]] int pe() const { return on_.device(); }
    [[nodiscard]] const array_shape& shape() const { return shape_; }
    [[nodiscard]] float* values() const { return values_.get(); }
    [[nodiscard]] device_stream& computing() { return computing_; }

    void write(std::uint32_t round) {
        computing_.run(write_numbers{{shape_, values_.get()}, account_.get(), round}, blocks_);
    }
    void verify(std::uint32_t round) {
        computing_.run(verify_sums{{shape_, values_.get()}, account_.get(), round}, blocks_);
    }

    void collect(flow::context& ctx, all_reduce_result& result) {
        std::vector<float> values(shape_.elements);
        std::vector<std::uint64_t> account(account_words);
        computing_.copy(values.data(), values_.get(), values.size() * sizeof(float));
        computing_.copy(account.data(), account_.get(), account_words * sizeof(std::uint64_t));
        ctx.wait(computing_.record(), "copying to the host");
        add_to(result, std::move(values), account, static_cast<int>(shape_.n_pes));
    }

private:
    flow::endpoint on_;
    array_shape shape_;
    std::shared_ptr<float> values_;
    std::shared_ptr<std::uint64_t> account_;
    device_stream computing_;
    int blocks_;
};

}  // namespace laneway::apps
