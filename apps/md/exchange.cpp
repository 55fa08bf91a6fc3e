#include "exchange.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "kmer/hash.hpp"
#include "laneway/base/error.hpp"

namespace laneway::apps {

namespace {

/// Uniform over [0, 1), in steps of 2^-53.
double draw(std::uint64_t seed, std::uint64_t round, std::uint64_t rung) {
    return static_cast<double>(mix(mix(mix(seed) ^ round) ^ rung) >> 11) * 0x1p-53;
}

}  // namespace

double exchange_probability(double temperature_a, double potential_a, double temperature_b, double potential_b) {
    const double exponent = (1 / temperature_a - 1 / temperature_b) * (potential_a - potential_b);
    return exponent >= 0 ? 1 : std::exp(exponent);
}

replica_ladder::replica_ladder(std::vector<double> temperatures, std::uint64_t seed)
    : temperatures_(std::move(temperatures)), rungs_(temperatures_.size()), seed_(seed) {
    if (size() < 2) throw usage_error("replica exchange needs two temperatures or more, not " + std::to_string(size()));
    double below = 0;
    for (const double temperature : temperatures_) {
        if (!(temperature > below && std::isfinite(temperature))) {
            throw usage_error("temperature " + std::to_string(temperature) +
                              " of a ladder is not above the one before, " + std::to_string(below));
        }
        below = temperature;
    }
    std::iota(rungs_.begin(), rungs_.end(), std::size_t{0});
    replicas_ = rungs_;
}

replica_ladder::trade replica_ladder::try_trade(std::size_t rung, std::uint64_t round, double lower_potential,
                                                double upper_potential) {
    if (rung + 1 >= size()) {
        throw usage_error("rung " + std::to_string(rung) + " has no upper neighbour among " + std::to_string(size()));
    }
    if (!std::isfinite(lower_potential) || !std::isfinite(upper_potential)) {
        throw usage_error("a replica's potential energy is not finite");
    }
    const double low = temperatures_[rung], high = temperatures_[rung + 1];
    trade made{false, replicas_[rung], replicas_[rung + 1], 1, 1};
    made.accepted = draw(seed_, round, rung) < exchange_probability(low, lower_potential, high, upper_potential);
    if (!made.accepted) return made;
    std::swap(replicas_[rung], replicas_[rung + 1]);
    std::swap(rungs_[made.lower], rungs_[made.upper]);
    made.lower_factor = std::sqrt(high / low);
    made.upper_factor = std::sqrt(low / high);
    return made;
}

std::vector<std::size_t> replica_ladder::pairs_of(std::uint64_t round) const {
    std::vector<std::size_t> lower;
    for (std::size_t rung = round % 2; rung + 1 < size(); rung += 2) lower.push_back(rung);
    return lower;
}

std::vector<replica_ladder::trade> replica_ladder::trade_round(std::uint64_t round,
                                                               const std::vector<double>& potentials) {
    if (potentials.size() != size()) {
        throw usage_error(std::to_string(potentials.size()) + " potential energies of " + std::to_string(size()) +
                          " replicas");
    }
    std::vector<trade> accepted;
    for (const std::size_t rung : pairs_of(round)) {
        const trade made = try_trade(rung, round, potentials[replicas_[rung]], potentials[replicas_[rung + 1]]);
        if (made.accepted) accepted.push_back(made);
    }
    return accepted;
}

}  // namespace laneway::apps
