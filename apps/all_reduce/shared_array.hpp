// The array that all styles reduce: what lanes write and verify, and who reduces which part.
#pragma once

#include "all_reduce/all_reduce.hpp"
#include "all_reduce/numbers.hpp"
#include "laneway/runtime.hpp"
#include "parallel/computing_time.hpp"
#include "parallel/served_run.hpp"

namespace laneway::apps {

/// Cut into pieces, which are shared out among the PEs.
struct array_shape {
    static constexpr std::uint64_t piece = 1024;

    std::uint64_t elements = 0;
    std::uint64_t n_pes = 1;

    [[nodiscard]] LANEWAY_FN std::uint64_t pieces() const { return (elements + piece - 1) / piece; }
    [[nodiscard]] LANEWAY_FN std::uint64_t begin_of(std::uint64_t number) const {
        return number < pieces() ? number * piece : elements;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t first_piece(int pe) const {
        return pieces() * static_cast<std::uint64_t>(pe) / n_pes;
    }
    [[nodiscard]] LANEWAY_FN int owner_of(std::uint64_t number) const {
        int pe = 0;
        while (first_piece(pe + 1) <= number) ++pe;
        return pe;
    }
    /// Of the elements of its pieces a PE has those of all PEs, one after the other.
    [[nodiscard]] LANEWAY_FN std::uint64_t first_of(int pe) const { return begin_of(first_piece(pe)); }
    [[nodiscard]] LANEWAY_FN std::uint64_t count_of(int pe) const { return first_of(pe + 1) - first_of(pe); }
    [[nodiscard]] LANEWAY_FN std::uint64_t staged_elements() const {
        return ((pieces() + n_pes - 1) / n_pes) * piece * n_pes;
    }
    /// Where in the owner's memory an element of another PE is kept.
    [[nodiscard]] LANEWAY_FN std::uint64_t staged_at(std::uint64_t element, int owner, int pe) const {
        return staged_elements() / n_pes * static_cast<std::uint64_t>(pe) + element - first_of(owner);
    }
};

/// A PE's part. `Floats`: pointer to floats. All lanes of a warp call all members together.
template <class Floats>
struct array_view {
    array_shape shape;
    Floats values;

    template <class Ctx>
    LANEWAY_FN void write(Ctx& ctx, std::uint64_t piece, std::uint32_t round) const {
        each(ctx, piece, [&](std::uint64_t i) { values[i] = contribution_to_sum(i, ctx.pe(), round); });
    }
    /// How many sums of the piece are wrong, as far as this lane has looked.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t wrong(Ctx& ctx, std::uint64_t piece, std::uint32_t round) const {
        std::uint64_t found = 0;
        each(ctx, piece, [&](std::uint64_t i) {
            float sum = 0;
            for (int pe = 0; pe < ctx.n_pes(); ++pe) sum += contribution_to_sum(i, pe, round);
            const float value = values[i];
            found += value == sum ? 0 : 1;
        });
        return found;
    }
    /// Adds to this PE's elements of a piece of its own those of the others.
    template <class Ctx>
    LANEWAY_FN void reduce(Ctx& ctx, std::uint64_t piece, Floats staged) const {
        each(ctx, piece, [&](std::uint64_t i) {
            float sum = values[i];
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                if (pe == ctx.pe()) continue;
                const float other = staged[shape.staged_at(i, ctx.pe(), pe)];
                sum += other;
            }
            values[i] = sum;
        });
    }

private:
    template <class Ctx, class Use>
    LANEWAY_FN void each(Ctx& ctx, std::uint64_t piece, Use&& use) const {
        const std::uint64_t end = shape.begin_of(piece + 1);
        const auto lane = static_cast<std::uint64_t>(ctx.lane());
        for (std::uint64_t i = shape.begin_of(piece) + lane; i < end; i += Ctx::warp_lanes) use(i);
        ctx.sync(full_warp<Ctx>);
    }
};

/// Words of a PE's account: its clock of computing_time, and how many sums were wrong.
inline constexpr std::uint64_t account_words = 2;

/// Device view of an array in symmetric memory.
struct shared_array_ref {
    array_shape shape;
    symmetric_ref<float> values;
    symmetric_ref<std::uint64_t> account;

    template <class Ctx>
    LANEWAY_FN void write(Ctx& ctx, std::uint32_t round, computing_time& spent) const {
        const auto mine = working_warp::of(ctx);
        spent.of(ctx, [&] {
            for (std::uint64_t p = mine.number; p < shape.pieces(); p += mine.warps) view(ctx).write(ctx, p, round);
        });
    }
    template <class Ctx>
    LANEWAY_FN void verify(Ctx& ctx, std::uint32_t round, computing_time& spent, std::uint64_t& wrong) const {
        const auto mine = working_warp::of(ctx);
        spent.of(ctx, [&] {
            for (std::uint64_t p = mine.number; p < shape.pieces(); p += mine.warps) {
                wrong += view(ctx).wrong(ctx, p, round);
            }
        });
    }
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, const computing_time& spent, std::uint64_t wrong) const {
        std::uint64_t* const words = address(ctx, account[0], ctx.pe());
        spent.add_to(ctx, working_warp::of(ctx).warps, words);
        if (wrong > 0) ctx.fetch_add(words + 1, wrong, order::relaxed, scope::device);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto view(const Ctx& ctx) const {
        return array_view<decltype(values.local(ctx))>{shape, values.local(ctx)};
    }
};

/// In symmetric memory, on the host.
class shared_array {
public:
    shared_array(runtime& rt, std::uint64_t elements)
        : shape_{elements, static_cast<std::uint64_t>(rt.n_pes())}, values_(rt.allocate<float>(elements)),
          account_(rt.allocate<std::uint64_t>(account_words)) {}

    [[nodiscard]] shared_array_ref ref() const { return {shape_, values_.ref(), account_.ref()}; }
    /// What came of it, but for the seconds of runs.
    [[nodiscard]] all_reduce_result take() const;

private:
    array_shape shape_;
    symmetric_array<float> values_;
    symmetric_array<std::uint64_t> account_;
};

/// Adds what a PE has to the result.
void add_to(all_reduce_result& result, std::vector<float> values, const std::vector<std::uint64_t>& account, int pes);

// One function a style. In symmetric memory each returns the seconds of its run.
double reduce_by_triggers(runtime& rt, const shared_array& array, std::uint32_t rounds);
served_run reduce_by_service(runtime& rt, const shared_array& array, std::uint32_t rounds, bool by_host_threads);
double reduce_by_collective(runtime& rt, const shared_array& array, std::uint32_t rounds);
all_reduce_result reduce_by_host(const all_reduce_options& options);
all_reduce_result reduce_by_streams(const all_reduce_options& options);

}  // namespace laneway::apps
