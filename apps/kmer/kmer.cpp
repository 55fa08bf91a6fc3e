#include "kmer.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <string>

#include "laneway/base/interruption.hpp"
#include "laneway/input/text_source.hpp"
#include "laneway/runtime.hpp"
#include "programs.hpp"

namespace laneway::apps {

class kmer_counter::implementation {
public:
    virtual ~implementation() = default;
    virtual kmer_result run() = 0;
    virtual std::vector<std::uint64_t> counts_of(const std::vector<std::string>& kmers) = 0;
};

namespace {

void check(const kmer_options& options) {
    if (options.k < 1 || options.k > 63) throw usage_error("k is " + std::to_string(options.k) + ", not 1 to 63");
    if (options.greatest < 1 || options.greatest > 100'000'000) {
        throw usage_error("the histogram's greatest multiplicity is " + std::to_string(options.greatest) +
                          ", not 1 to 100000000");
    }
}

/// K-mers of all PEs that the tables must have room for.
std::uint64_t distinct_expected(const kmer_options& options, std::uint64_t kmers, std::uint64_t max_distinct) {
    const std::uint64_t wanted = options.distinct > 0 ? options.distinct : max_distinct;
    const std::uint64_t possible = options.k < 31 ? std::uint64_t{1} << 2 * options.k : ~std::uint64_t{0};
    return std::min({wanted, kmers, possible});
}

template <int Words>
class counter final : public kmer_counter::implementation {
public:
    counter(std::shared_ptr<runtime> devices, const kmer_options& options, std::uint64_t words, std::uint64_t kmers,
            std::uint64_t max_distinct)
        : options_(options), devices_(std::move(devices)), runtime_(*devices_),
          lead_((static_cast<unsigned>(options.k) + 19) / symbols_a_word),
          words_(runtime_.allocate<std::uint64_t>(lead_ + (words + pes() - 1) / pes())),
          bins_(runtime_.allocate<std::uint64_t>(options.greatest + 2)), sums_(runtime_.allocate<table_sums>(1)),
          table_(runtime_.allocate<kmer_slot<Words>>(slots(distinct_expected(options, kmers, max_distinct)))),
          asked_(runtime_.allocate<kmer_key<Words>>(1)), found_(runtime_.allocate<std::uint64_t>(1)),
          box_(runtime_.mailbox<kmer_key<Words>>(count_kmer<Words>{table_.ref()})) {}

    /// Brings the sequences to the devices, or makes the reads there.
    template <class Source>
    void load(const Source& source) {
        const auto start = std::chrono::steady_clock::now();
        fill(source);
        copy_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    kmer_result run() override {
        if (touched_) table_.clear();
        touched_ = true;
        counted_ = false;
        const std::uint64_t own = words_.size() - lead_;
        // A few stretches for each lane of a large GPU, and no more than one word in eight repeated.
        const std::uint64_t stretch = std::clamp(own >> 20, std::max<std::uint64_t>(8, 8 * lead_), std::uint64_t{64});
        const post_kmers<Words> program{symbols(), stretch, options_.k, options_.canonical};
        kmer_result result;
        pieces_.resize(of_each_pe(program.pieces()));
        result.report = runtime_.run(program, pieces_, box_);
        tally(result);
        if (result.total != result.report.posted) {
            throw device_fault("the tables hold " + std::to_string(result.total) + " k-mers, but " +
                               std::to_string(result.report.posted) + " were posted");
        }
        result.copy_seconds = copy_seconds_;
        counted_ = true;
        return result;
    }

    std::vector<std::uint64_t> counts_of(const std::vector<std::string>& kmers) override {
        if (!counted_) throw usage_error("k-mers are looked up before they have been counted");
        std::vector<std::vector<kmer_key<Words>>> asked(pes());
        std::vector<std::pair<std::size_t, std::size_t>> places;  // PE and number there
        interruption_counter leave;
        for (std::size_t i = 0; i < kmers.size(); ++i) {
            leave.poll();
            const kmer_key<Words> key = key_of(kmers[i], i + 1);
            auto& its = asked[static_cast<std::size_t>(key.owner(runtime_.n_pes()))];
            places.emplace_back(&its - asked.data(), its.size());
            its.push_back(key);
        }
        const auto found = look_up(std::move(asked));
        std::vector<std::uint64_t> counts;
        for (const auto& [pe, number] : places) counts.push_back(found[pe][number]);
        return counts;
    }

private:
    /// `number`: for messages.
    [[nodiscard]] kmer_key<Words> key_of(const std::string& text, std::size_t number) const {
        const auto refuse = [&](const std::string& why) {
            throw usage_error("k-mer " + std::to_string(number) + ": " + why);
        };
        if (text.size() != static_cast<std::size_t>(options_.k)) {
            refuse(std::to_string(text.size()) + " bases, not " + std::to_string(options_.k));
        }
        kmer_window<Words> window(options_.k, options_.canonical);
        for (const char letter : text) {
            if (symbol_of(letter) >= gap) refuse(shown({&letter, 1}) + " is no base");
            (void)window.push(symbol_of(letter));
        }
        return window.key();
    }

    /// Counts of each PE's keys.
    std::vector<std::vector<std::uint64_t>> look_up(std::vector<std::vector<kmer_key<Words>>> asked) {
        std::size_t most = 64;
        for (const auto& its : asked) most = std::max(most, its.size());
        if (asked_.size() < most) {  // seldom, as a runtime has only so many arrays in its life
            // Both or none: there may be no memory for the second.
            auto keys = runtime_.allocate<kmer_key<Words>>(std::bit_ceil(most));
            found_ = runtime_.allocate<std::uint64_t>(keys.size());
            asked_ = std::move(keys);
        }
        for (std::size_t pe = 0; pe < asked.size(); ++pe) {
            asked[pe].resize(asked_.size());
            asked_.copy_in(static_cast<int>(pe), asked[pe]);
        }
        indices_.resize(of_each_pe(asked_.size()));
        (void)runtime_.for_each(indices_, look_up_counts<Words>{table_.ref(), asked_.ref(), found_.ref()});
        std::vector<std::vector<std::uint64_t>> found;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) found.push_back(found_.copy_out(pe));
        return found;
    }

    void fill(const packed_sequences& sequences) {
        const auto& words = sequences.words();
        const std::uint64_t own = words_.size() - lead_;
        std::vector<std::uint64_t> part(words_.size());
        interruption_counter leave;
        for (std::uint64_t pe = 0; pe < pes(); ++pe) {
            for (std::uint64_t i = 0; i < part.size(); ++i) {
                leave.poll();
                const std::uint64_t place = pe * own + i;  // counts from `lead_` words before the first symbol
                part[i] = place >= lead_ && place - lead_ < words.size() ? words[place - lead_] : gap_word;
            }
            words_.copy_in(static_cast<int>(pe), part);
        }
    }

    void fill(const simulated_reads& reads) {
        indices_.resize(of_each_pe(words_.size()));
        runtime_.for_each(indices_, make_reads{reads, symbols()});
    }

    [[nodiscard]] std::uint64_t pes() const { return static_cast<std::uint64_t>(runtime_.n_pes()); }
    [[nodiscard]] symbols_ref symbols() const { return {words_.ref(), lead_}; }

    [[nodiscard]] std::vector<std::uint64_t> of_each_pe(std::uint64_t count) const {
        return std::vector<std::uint64_t>(pes(), count);
    }

    /// Slots of a PE's table: at most two thirds are taken where memory allows.
    [[nodiscard]] std::uint64_t slots(std::uint64_t distinct) const {
        const std::uint64_t most = options_.table_bytes / sizeof(kmer_slot<Words>);
        if (most == 0) throw usage_error("table memory of " + std::to_string(options_.table_bytes) + " bytes");
        const double mean = static_cast<double>(distinct) / static_cast<double>(pes());
        const double fullest = mean + 6 * std::sqrt(mean);  // hashing spreads k-mers as dice would
        return std::min(std::bit_ceil(static_cast<std::uint64_t>(fullest * 1.5) + 1), std::bit_floor(most));
    }

    void tally(kmer_result& result) {
        bins_.clear();
        sums_.clear();
        indices_.resize(of_each_pe(table_.size()));
        const tally_counts<Words> program{table_.ref(), bins_.ref(), sums_.ref()};
        result.tally_seconds = runtime_.run(program, indices_).run_seconds;
        result.histogram.assign(bins_.size(), 0);
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto bins = bins_.copy_out(pe);
            for (std::uint64_t m = 0; m < bins.size(); ++m) {
                result.histogram[m] += bins[m];
                result.distinct += bins[m];
            }
            const table_sums sums = sums_.copy_out(pe)[0];
            result.total += sums.total;
            result.checksum += sums.checksum;
        }
        result.slots = table_.size() * pes();
    }

    kmer_options options_;
    std::shared_ptr<runtime> devices_;
    runtime& runtime_;
    std::uint64_t lead_;  ///< words that hold the k - 1 bases before a part
    symmetric_array<std::uint64_t> words_;
    symmetric_array<std::uint64_t> bins_;
    symmetric_array<table_sums> sums_;
    symmetric_array<kmer_slot<Words>> table_;
    symmetric_array<kmer_key<Words>> asked_;  ///< k-mers to be looked up
    symmetric_array<std::uint64_t> found_;    ///< as many
    mailbox_handle<routes<route<kmer_key<Words>, count_kmer<Words>>>> box_;
    index_space indices_{0}, pieces_{0, {.for_warps = true}};
    double copy_seconds_ = 0;
    bool touched_ = false;  ///< whether the tables may hold something
    bool counted_ = false;  ///< whether they hold what has been counted
};

template <class Source>
std::unique_ptr<kmer_counter::implementation> make(std::shared_ptr<runtime> devices, const Source& source,
                                                   const kmer_options& options, std::uint64_t words,
                                                   std::uint64_t max_distinct) {
    check(options);
    const std::uint64_t kmers = source.kmers(options.k);
    if (kmers == 0) {
        throw usage_error("no k-mers: " + std::to_string(options.k) + " bases in a row are nowhere in the sequences");
    }
    if (!devices) devices = std::make_shared<runtime>(options.job);
    const auto load = [&](auto made) {
        made->load(source);
        return made;
    };
    if (options.k <= 31) return load(std::make_unique<counter<1>>(devices, options, words, kmers, max_distinct));
    return load(std::make_unique<counter<2>>(devices, options, words, kmers, max_distinct));
}

}  // namespace

kmer_counter::kmer_counter(const packed_sequences& sequences, const kmer_options& options,
                           std::shared_ptr<runtime> devices)
    : implementation_(make(std::move(devices), sequences, options, sequences.words().size(), ~std::uint64_t{0})) {}

kmer_counter::kmer_counter(const simulated_reads& reads, const kmer_options& options, std::shared_ptr<runtime> devices)
    : implementation_(
          make(std::move(devices), reads, options, reads.words(), reads.max_distinct(options.k, options.canonical))) {}

kmer_counter::~kmer_counter() = default;
kmer_counter::kmer_counter(kmer_counter&&) noexcept = default;

kmer_result kmer_counter::run() { return implementation_->run(); }

std::vector<std::uint64_t> kmer_counter::counts_of(const std::vector<std::string>& kmers) {
    return implementation_->counts_of(kmers);
}

}  // namespace laneway::apps
