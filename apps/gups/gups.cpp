#include "gups.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "binned.hpp"
#include "laneway/runtime.hpp"
#include "replay.hpp"

namespace laneway::apps {

gups_mode parse_gups_mode(const std::string& text) {
    if (text == "hpcc") return gups_mode::hpcc;
    if (text == "free") return gups_mode::free;
    if (text == "binned") return gups_mode::binned;
    if (text == "raw") return gups_mode::raw;
    throw usage_error("mode must be hpcc, free, binned or raw, not " + text);
}

namespace {

/// Names of the words that a PE counts in.
enum counter : std::uint64_t { errors, first_error, seats, filling, refused, n_counters };

const gups_options& checked(const gups_options& o) {
    if (o.log2_words < 8 || o.log2_words > table_map::max_log2_words) {
        throw usage_error("log2_words must be from 8 to " + std::to_string(table_map::max_log2_words) + ", not " +
                          std::to_string(o.log2_words));
    }
    constexpr std::uint64_t max_updates = std::uint64_t{1} << 48;
    if (o.updates && (*o.updates == 0 || *o.updates > max_updates)) {
        throw usage_error("updates must be from 1 to 2^48, not " + std::to_string(*o.updates));
    }
    if (o.look_ahead == 0) throw usage_error("look_ahead must be above 0");
    if (!std::has_single_bit(o.region_bytes) || o.region_bytes < 8) {
        throw usage_error("region_bytes must be a power of two from 8 on, not " + std::to_string(o.region_bytes));
    }
    if (o.round_updates && *o.round_updates == 0) throw usage_error("round_updates must be above 0");
    return o;
}

}  // namespace

class gups_table::implementation {
public:
    implementation(const gups_options& options, std::shared_ptr<runtime> devices)
        : options_(checked(options)), devices_(devices ? std::move(devices) : std::make_shared<runtime>(options.job)),
          runtime_(*devices_), plan_{{},
                                     {options.log2_words, runtime_.n_pes()},
                                     options.updates.value_or(std::uint64_t{4} << options.log2_words)},
          table_(runtime_.allocate<std::uint64_t>(plan_.map.places())),
          counters_(runtime_.allocate<std::uint64_t>(n_counters)), apply_{table_.ref(), plan_.map},
          own_words_(words_of_pes()), stretches_(all_stretches(), {.max_rows = 1}) {
        if (options_.mode == gups_mode::raw) require_shared_memory();
        if (options_.mode == gups_mode::binned) make_logs();
    }

    gups_result run() {
        is_whole_ = false;
        runtime_.for_each(own_words_, number_words{table_.ref(), plan_.map});
        gups_result result;
        result.words = plan_.map.words();
        result.updates = plan_.updates;
        result.report = update();
        is_whole_ = true;
        if (options_.mode == gups_mode::binned) {
            result.rounds = rounds_;
            for (int pe = 0; pe < runtime_.n_pes(); ++pe) result.refused += counters_.copy_out(pe)[refused];
        }
        return result;
    }

    gups_check check() {
        require_whole();
        gups_check outcome;
        is_whole_ = false;
        outcome.seconds = undo();
        reset_counters();
        runtime_.for_each(own_words_, find_errors{table_.ref(), plan_.map, at(errors), at(first_error)});
        outcome.first_error = ~std::uint64_t{0};
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto counted = counters_.copy_out(pe);
            outcome.errors += counted[errors];
            outcome.first_error = std::min(outcome.first_error, counted[first_error]);
        }
        undo();
        is_whole_ = true;
        return outcome;
    }

    [[nodiscard]] std::vector<std::uint64_t> words() const {
        require_whole();
        std::vector<std::uint64_t> all(plan_.map.words());
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto part = table_.copy_out(pe);
            for (std::uint64_t i = plan_.map.first(pe); i < plan_.map.first(pe + 1); ++i) {
                all[i] = part[plan_.map.place(i)];
            }
        }
        return all;
    }

private:
    [[nodiscard]] symmetric_ptr<std::uint64_t> at(counter which) const { return counters_.ref()[which]; }

    void reset_counters() {
        std::vector<std::uint64_t> start(n_counters);
        start[first_error] = ~std::uint64_t{0};
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) counters_.copy_in(pe, start);
    }

    /// A run numbers the words anew, and a check undoes the updates and does them again.
    void require_whole() const {
        if (!is_whole_) throw usage_error("a run or a check of the table was left before its end: the table is lost");
    }

    void require_shared_memory() {
        for (int pe = 1; pe < runtime_.n_pes(); ++pe) {
            if (runtime_.machine().shares_memory(0, pe)) continue;
            throw usage_error("mode raw: " + runtime_.machine().device(0)->name() + " and " +
                              runtime_.machine().device(pe)->name() + " do not share memory");
        }
    }

    void make_logs() {
        const auto pes = static_cast<std::uint64_t>(runtime_.n_pes());
        const std::uint64_t places = plan_.map.places();
        const std::uint64_t share = (plan_.updates + pes - 1) / pes;
        const std::uint64_t a_round = std::min(share, options_.round_updates.value_or(std::clamp(
                                                          places / 2, std::uint64_t{1} << 16, std::uint64_t{1} << 31)));
        rounds_ = (share + a_round - 1) / a_round;
        const std::uint64_t region_words = std::min(options_.region_bytes / 8, places);
        logs_.log2_region_words = static_cast<unsigned>(std::countr_zero(region_words));
        const std::uint64_t regions = places >> logs_.log2_region_words;
        const double mean = static_cast<double>(a_round) / static_cast<double>(regions);
        // Updates fall at random: eight standard deviations, and a sixteenth for what the stream is short of random.
        const auto capacity =
            std::max(static_cast<std::uint64_t>(mean + mean / 16 + 8 * std::sqrt(mean)), std::uint64_t{1});
        if (regions > 1u << 20 || (regions * capacity) >> 32 != 0) {
            throw usage_error("mode binned: " + std::to_string(regions) + " regions of " + std::to_string(capacity) +
                              " updates each are too many: change region_bytes or round_updates");
        }
        logs_.regions = static_cast<std::uint32_t>(regions);
        logs_.capacity = static_cast<std::uint32_t>(capacity);
        entries_.emplace(runtime_.allocate<std::uint64_t>(2 * regions * capacity));
        lengths_.emplace(runtime_.allocate<log_length>(2 * regions));
        rounds_claimed_.emplace(runtime_.allocate<std::uint64_t>(2 * rounds_ + 1));
        logs_.entries = entries_->ref();
        logs_.lengths = lengths_->ref();
        logs_.filling = at(filling);
        logs_.refused = at(refused);
    }

    run_report update() {
        reset_counters();
        const auto box = runtime_.mailbox<std::uint64_t>(apply_);
        switch (options_.mode) {
            case gups_mode::hpcc: return runtime_.run(post_within_limit{plan_, at(seats), options_.look_ahead}, box);
            case gups_mode::raw: return runtime_.run(raw_updates{plan_, table_.ref()}, box);
            case gups_mode::binned: return update_binned();
            default: return runtime_.run(post_updates{plan_}, box);
        }
    }

    run_report update_binned() {
        lengths_->clear();
        rounds_claimed_->clear();
        return runtime_.run(post_and_sweep{plan_, apply_, logs_, rounds_, rounds_claimed_->ref()},
                            runtime_.mailbox<std::uint64_t>(log_update{apply_, logs_}));
    }

    /// Applies all updates once more; returns the time it took.
    double undo() { return runtime_.for_each(stretches_, undo_updates{plan_, apply_}).run_seconds; }

    [[nodiscard]] std::vector<std::uint64_t> words_of_pes() const {
        std::vector<std::uint64_t> words;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) words.push_back(plan_.map.first(pe + 1) - plan_.map.first(pe));
        return words;
    }
    /// Each PE draws all of them.
    [[nodiscard]] std::vector<std::uint64_t> all_stretches() const {
        const std::uint64_t stretches = undo_updates{plan_, apply_}.stretches();
        return std::vector<std::uint64_t>(static_cast<std::size_t>(runtime_.n_pes()), stretches);
    }

    gups_options options_;
    std::shared_ptr<runtime> devices_;
    runtime& runtime_;
    update_plan plan_;
    symmetric_array<std::uint64_t> table_;
    symmetric_array<std::uint64_t> counters_;
    apply_update apply_;
    index_space own_words_, stretches_;
    region_logs logs_;
    bool is_whole_ = true;  ///< the table
    std::uint64_t rounds_ = 1;
    std::optional<symmetric_array<std::uint64_t>> entries_;
    std::optional<symmetric_array<log_length>> lengths_;
    std::optional<symmetric_array<std::uint64_t>> rounds_claimed_;
};

gups_table::gups_table(const gups_options& options, std::shared_ptr<runtime> devices)
    : implementation_(std::make_unique<implementation>(options, std::move(devices))) {}
gups_table::~gups_table() = default;
gups_table::gups_table(gups_table&&) noexcept = default;

gups_result gups_table::run() { return implementation_->run(); }
gups_check gups_table::check() { return implementation_->check(); }
std::vector<std::uint64_t> gups_table::words() const { return implementation_->words(); }

}  // namespace laneway::apps
