#include "styles/kmer/study.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>

#include "kmer/simulated_reads.hpp"
#include "laneway/base/in_threads.hpp"
#include "styles/kmer/problem.hpp"

namespace laneway::styles {

namespace {

/// Ten reads of 100 bases over each place of a genome, one base in a hundred wrong: `kmers` k-mers, about.
apps::simulated_reads reads_with(std::uint64_t kmers) {
    apps::simulation wanted;
    const std::uint64_t bases = kmers / (wanted.read_length - kmer_data::k + 1) * wanted.read_length;
    wanted.genome_length = std::max<std::uint64_t>(bases / 10, wanted.read_length);
    wanted.coverage = static_cast<double>(bases) / static_cast<double>(wanted.genome_length);
    wanted.error_rate = 0.01;
    return apps::simulated_reads(wanted);
}

struct make_reads {
    apps::simulated_reads reads;
    symmetric_ref<std::uint64_t> words;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const std::uint64_t first = static_cast<std::uint64_t>(ctx.pe()) * (words.size() - kmer_data::lead_words);
        for_each_index(ctx, words.size(), [&](std::uint64_t i) {
            const std::uint64_t place = first + i;  // counts from `lead_words` before the first symbol
            const bool inside = place >= kmer_data::lead_words && place - kmer_data::lead_words < reads.words();
            words.local(ctx)[i] = inside ? reads.word(place - kmer_data::lead_words) : apps::gap_word;
        });
    }
};

/// What tables with the same k-mers and counts have in common, whoever owns what.
struct kmer_sums {
    std::uint64_t total;
    std::uint64_t distinct;
    std::uint64_t checksum;  ///< of hash times count

    friend bool operator==(const kmer_sums&, const kmer_sums&) = default;
};

struct add_up {
    symmetric_ref<apps::kmer_slot<1>> table;
    symmetric_ref<kmer_sums> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        kmer_sums mine{};
        for_each_index(ctx, table.size(), [&](std::uint64_t i) {
            const apps::kmer_slot<1> slot = table.local(ctx)[i];
            if (slot.words[0] == 0) return;
            mine.total += slot.count();
            mine.distinct += 1;
            mine.checksum += slot.count() * apps::kmer_key<1>{{slot.words[0]}}.hash();
        });
        kmer_sums& all = *sums.local(ctx);
        ctx.fetch_add(&all.total, mine.total, order::relaxed, scope::device);
        ctx.fetch_add(&all.distinct, mine.distinct, order::relaxed, scope::device);
        ctx.fetch_add(&all.checksum, mine.checksum, order::relaxed, scope::device);
    }
};

/// The same by sorting on the host: every thread takes the k-mers of a range of hashes.
kmer_sums reference_sums(const apps::simulated_reads& reads) {
    const apps::packed_sequences sequences = reads.to_sequences();
    constexpr std::uint64_t n_parts = 64;
    std::vector<kmer_sums> parts(n_parts);
    const auto sum_part = [&](std::uint64_t part, keep_going& going) {
        apps::kmer_window<1> window(kmer_data::k, true);
        std::vector<std::uint64_t> kmers;
        sequences.for_each_symbol([&](unsigned symbol) {
            if (!going || !window.push(symbol)) return;
            const std::uint64_t hash = window.key().hash();
            if (hash % n_parts != part) return;
            kmers.push_back(window.key().words[0]);
            parts[part].checksum += hash;
        });
        std::sort(kmers.begin(), kmers.end());
        parts[part].total = kmers.size();
        parts[part].distinct = static_cast<std::uint64_t>(std::unique(kmers.begin(), kmers.end()) - kmers.begin());
    };
    const std::uint64_t n_threads = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, n_parts);
    in_threads(equal_cuts(n_parts, n_threads), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        for (std::uint64_t part = begin; part < end; ++part) sum_part(part, going);
    });
    kmer_sums all{};
    for (const kmer_sums& part : parts) {
        all = {all.total + part.total, all.distinct + part.distinct, all.checksum + part.checksum};
    }
    return all;
}

class kmer_study final : public study {
public:
    explicit kmer_study(const study_options& options)
        : on_(options), reads_(reads_with(pes() << options.log2_messages)),
          words_(on_.runtime().allocate<std::uint64_t>(kmer_data::lead_words + own_words())),
          table_(on_.runtime().allocate<apps::kmer_slot<1>>(slots())), sums_(on_.runtime().allocate<kmer_sums>(1)),
          taken_(on_.runtime().allocate<std::uint64_t>(1)), reference_(reference_sums(reads_)) {
        on_.launch(make_reads{reads_, words_.ref()});
    }

    [[nodiscard]] std::uint64_t messages() const override { return reads_.kmers(kmer_data::k); }

    [[nodiscard]] std::string difference() override {
        sums_.clear();
        on_.launch(add_up{table_.ref(), sums_.ref()});
        kmer_sums all{};
        for (int pe = 0; pe < on_.n_pes(); ++pe) {
            const kmer_sums part = sums_.copy_out(pe)[0];
            all = {all.total + part.total, all.distinct + part.distinct, all.checksum + part.checksum};
        }
        if (all == reference_) return {};
        return "kmer: " + std::to_string(all.total) + " k-mers, " + std::to_string(all.distinct) +
               " distinct, are not the " + std::to_string(reference_.total) + ", " +
               std::to_string(reference_.distinct) + " distinct, of the reads";
    }

private:
    [[nodiscard]] std::uint64_t pes() const { return static_cast<std::uint64_t>(on_.n_pes()); }
    /// Whole warps of stretches, with gaps behind the last read.
    [[nodiscard]] std::uint64_t own_words() const {
        constexpr std::uint64_t unit = 32 * kmer_data::stretch_words;
        return (reads_.words() / pes() / unit + 1) * unit;
    }
    /// At most two thirds are taken.
    [[nodiscard]] std::uint64_t slots() const {
        const double mean = static_cast<double>(reads_.max_distinct(kmer_data::k, true)) / static_cast<double>(pes());
        return std::bit_ceil(static_cast<std::uint64_t>(1.5 * (mean + 6 * std::sqrt(mean))) + 1);
    }

    void prepare(style which) override {
        work (*const starts[n_styles])(launcher&, const kmer_data&) = {kmer_coprocessor, kmer_direct, kmer_coalesced,
                                                                       kmer_coalesced_aggregated, kmer_laneway};
        work_ = starts[static_cast<int>(which)](on_, {words_.ref(), table_.ref(), taken_.ref()[0]});
    }
    void reset() override {
        table_.clear();
        taken_.clear();
    }
    void run() override { work_(); }

    launcher on_;
    apps::simulated_reads reads_;
    symmetric_array<std::uint64_t> words_;
    symmetric_array<apps::kmer_slot<1>> table_;
    symmetric_array<kmer_sums> sums_;
    symmetric_array<std::uint64_t> taken_;
    kmer_sums reference_;
    work work_;
};

}  // namespace

std::unique_ptr<study> open_kmer(const study_options& options) { return std::make_unique<kmer_study>(options); }

}  // namespace laneway::styles
