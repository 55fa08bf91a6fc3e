// The reference answer: every k-mer written out, taken apart base by base, and sorted.
#include <algorithm>

#include "kmer.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::apps {

namespace {

using wide_number = __uint128_t;

/// The k-mer of `bases`, or the lesser of it and its reverse complement.
wide_number value_of(const unsigned* bases, int k, bool canonical) {
    wide_number forward = 0;
    wide_number backward = 0;
    for (int i = 0; i < k; ++i) {
        forward = forward * 4 + bases[i];
        backward = backward * 4 + (3 - bases[k - 1 - i]);
    }
    return canonical ? std::min(forward, backward) : forward;
}

std::vector<wide_number> sorted_kmers(const packed_sequences& sequences, const kmer_options& options) {
    std::vector<wide_number> all;
    std::vector<unsigned> bases;  // since the last gap
    interruption_counter leave;
    sequences.for_each_symbol([&](unsigned symbol) {
        leave.poll();
        if (symbol == gap) {
            bases.clear();
            return;
        }
        bases.push_back(symbol);
        const auto k = static_cast<std::size_t>(options.k);
        if (bases.size() >= k) all.push_back(value_of(&bases[bases.size() - k], options.k, options.canonical));
    });
    std::sort(all.begin(), all.end(), [&leave](wide_number a, wide_number b) {
        leave.poll();
        return a < b;
    });
    return all;
}

}  // namespace

kmer_result count_kmers_by_sorting(const packed_sequences& sequences, const kmer_options& options) {
    const std::vector<wide_number> kmers = sorted_kmers(sequences, options);
    kmer_result result;
    result.histogram.assign(options.greatest + 2, 0);
    result.total = kmers.size();
    interruption_counter leave;
    for (auto first = kmers.begin(); first != kmers.end();) {
        leave.poll();
        const auto last = std::upper_bound(first, kmers.end(), *first);
        const auto times = static_cast<std::uint64_t>(last - first);
        ++result.histogram[std::min(times, options.greatest + 1)];
        ++result.distinct;
        first = last;
    }
    return result;
}

}  // namespace laneway::apps
