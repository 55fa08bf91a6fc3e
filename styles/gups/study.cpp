#include "styles/gups/study.hpp"

#include <bit>

#include "gups/gups.hpp"
#include "gups/stream.hpp"
#include "styles/gups/problem.hpp"

namespace laneway::styles {

namespace {

/// Writes the stream of HPC Challenge: PE p has the values behind those of PE p - 1.
struct draw_updates {
    static constexpr std::uint64_t stretch = 256;
    apps::random_stream stream;
    symmetric_ref<std::uint64_t> updates;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const std::uint64_t before = static_cast<std::uint64_t>(ctx.pe()) * updates.size();
        for_each_index(ctx, updates.size() / stretch, [&](std::uint64_t i) {
            std::uint64_t value = stream.at(before + i * stretch);
            for (std::uint64_t k = 0; k < stretch; ++k) {
                updates.local(ctx)[i * stretch + k] = value = apps::random_stream::after(value);
            }
        });
    }
};

struct number_words {
    symmetric_ref<std::uint64_t> table;
    apps::table_map map;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const std::uint64_t first = map.first(ctx.pe());
        for_each_index(ctx, map.first(ctx.pe() + 1) - first,
                       [&](std::uint64_t i) { table.local(ctx)[map.place(first + i)] = first + i; });
    }
};

struct count_errors {
    symmetric_ref<std::uint64_t> table;
    symmetric_ref<std::uint64_t> expected;
    symmetric_ptr<std::uint64_t> errors;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, table.size(), [&](std::uint64_t i) {
            if (table.local(ctx)[i] != expected.local(ctx)[i]) atomic_add(ctx, errors, 1);
        });
    }
};

class gups_study final : public study {
public:
    explicit gups_study(const study_options& options)
        : on_(options), updates_(on_.runtime().allocate<std::uint64_t>(std::uint64_t{1} << options.log2_messages)),
          log2_words_(options.log2_messages + static_cast<unsigned>(std::bit_width(pes()) - 1)),
          map_(log2_words_, on_.n_pes()), table_(on_.runtime().allocate<std::uint64_t>(map_.places())),
          expected_(on_.runtime().allocate<std::uint64_t>(map_.places())),
          counters_(on_.runtime().allocate<std::uint64_t>(1)) {
        on_.launch(draw_updates{{}, updates_.ref()});
        const auto reference = apps::gups_reference(log2_words_, messages());
        for (int pe = 0; pe < on_.n_pes(); ++pe) {
            std::vector<std::uint64_t> part(map_.places());
            for (std::uint64_t i = map_.first(pe); i < map_.first(pe + 1); ++i) part[map_.place(i)] = reference[i];
            expected_.copy_in(pe, part);
        }
    }

    [[nodiscard]] std::uint64_t messages() const override { return updates_.size() * pes(); }

    [[nodiscard]] std::string difference() override {
        counters_.clear();
        on_.launch(count_errors{table_.ref(), expected_.ref(), counters_.ref()[0]});
        std::uint64_t errors = 0;
        for (int pe = 0; pe < on_.n_pes(); ++pe) errors += counters_.copy_out(pe)[0];
        return errors == 0 ? "" : "gups: " + std::to_string(errors) + " words are wrong";
    }

private:
    [[nodiscard]] std::uint64_t pes() const { return static_cast<std::uint64_t>(on_.n_pes()); }

    void prepare(style which) override {
        work (*const starts[n_styles])(launcher&, const gups_data&) = {gups_coprocessor, gups_direct, gups_coalesced,
                                                                       gups_coalesced_aggregated, gups_laneway};
        work_ = starts[static_cast<int>(which)](on_, {updates_.ref(), table_.ref(), map_, counters_.ref()[0]});
    }

    void reset() override {
        counters_.clear();
        on_.launch(number_words{table_.ref(), map_});
    }
    void run() override { work_(); }

    launcher on_;
    symmetric_array<std::uint64_t> updates_;
    unsigned log2_words_;
    apps::table_map map_;
    symmetric_array<std::uint64_t> table_;
    symmetric_array<std::uint64_t> expected_;
    symmetric_array<std::uint64_t> counters_;
    work work_;
};

}  // namespace

std::unique_ptr<study> open_gups(const study_options& options) { return std::make_unique<gups_study>(options); }

}  // namespace laneway::styles
