#include "simulated_reads.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <thread>

#include "laneway/base/error.hpp"
#include "laneway/base/in_threads.hpp"

namespace laneway::apps {

namespace {

/// As short as it can be: 1e+300 rather than 300 digits.
std::string shortest(double number) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

const simulation& checked(const simulation& s) {
    constexpr double max_bases = 0x1p48;
    if (s.read_length == 0) throw usage_error("read length: 0 bases");
    if (s.read_length > s.genome_length) {
        throw usage_error("reads of " + std::to_string(s.read_length) + " bases are longer than a genome of " +
                          std::to_string(s.genome_length));
    }
    const double bases = s.coverage * static_cast<double>(s.genome_length);
    if (!(s.coverage > 0) || !(bases <= max_bases)) {
        throw usage_error("coverage " + shortest(s.coverage) + " is not above 0 with at most 2^48 bases in all");
    }
    if (!(s.error_rate >= 0 && s.error_rate <= 1)) {
        throw usage_error("error rate " + shortest(s.error_rate) + " is outside 0 to 1");
    }
    return s;
}

}  // namespace

simulated_reads::simulated_reads(const simulation& wanted)
    : genome_length_(checked(wanted).genome_length), read_length_(wanted.read_length), reads_(1),
      error_limit_(static_cast<std::uint64_t>(wanted.error_rate * 0x1p32)), genome_key_(mix(wanted.seed)),
      place_key_(mix(genome_key_)), error_key_(mix(place_key_)) {
    const double bases = wanted.coverage * static_cast<double>(genome_length_);
    reads_ = static_cast<std::uint64_t>(std::ceil(bases / static_cast<double>(read_length_)));
}

std::uint64_t simulated_reads::max_distinct(int k, bool canonical) const {
    const double wrong = static_cast<double>(error_limit_) * 0x1p-32 * static_cast<double>(bases());
    const double from_errors = (wrong + 6 * std::sqrt(wrong)) * k;
    const auto strands = std::uint64_t{canonical ? 1u : 2u};
    return std::min(kmers(k), genome_length_ * strands + static_cast<std::uint64_t>(from_errors));
}

packed_sequences simulated_reads::to_sequences() const {
    std::vector<std::uint64_t> made(words());
    const std::uint64_t n_threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
    in_threads(equal_cuts(made.size(), n_threads), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        for (std::uint64_t i = begin; i < end && going; ++i) made[i] = word(i);
    });
    return {std::move(made), bases(), reads_};
}

}  // namespace laneway::apps
