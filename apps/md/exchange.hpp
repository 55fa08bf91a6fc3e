// Replica exchange (Sugita and Okamoto, Chem. Phys. Lett. 314, 1999): universes at neighbouring temperatures trade
// them between segments of their runs. Host only; nothing here depends on where or when the segments ran.
#pragma once

#include <cstdint>
#include <vector>

namespace laneway::apps {

/// Probability that replicas of these temperatures and potential energies trade temperatures, by Metropolis:
/// min(1, exp((1/T_a - 1/T_b) (E_a - E_b))) with k_B = 1.
double exchange_probability(double temperature_a, double potential_a, double temperature_b, double potential_b);

/// Who has which temperature. A rung is a temperature's place in the ladder, from the lowest.
class replica_ladder {
public:
    /// Replica r begins on rung r. Throws usage_error for fewer than two temperatures, or where they do not rise from
    /// above 0.
    replica_ladder(std::vector<double> temperatures, std::uint64_t seed);

    [[nodiscard]] std::size_t size() const { return temperatures_.size(); }
    [[nodiscard]] double temperature_of(std::size_t replica) const { return temperatures_[rungs_[replica]]; }
    [[nodiscard]] std::size_t rung_of(std::size_t replica) const { return rungs_[replica]; }
    [[nodiscard]] std::size_t replica_on(std::size_t rung) const { return replicas_[rung]; }

    /// What a trade asks of the two replicas: to multiply their velocities (scale_velocities of
    /// lennard_jones.hpp) by sqrt(new temperature / old temperature).
    struct trade {
        bool accepted = false;
        std::size_t lower = 0, upper = 0;  ///< the replicas on the two rungs before it
        double lower_factor = 1, upper_factor = 1;
    };

    /// Lets the replicas on rungs `rung` and `rung + 1` trade, with the probability above, once both have ended round
    /// `round` with these potential energies. The draw follows from seed, round and rung alone, so pairs may come in
    /// any order, each as soon as its two replicas are done. Throws usage_error for a rung without an upper neighbour,
    /// and energies that are not finite.
    trade try_trade(std::size_t rung, std::uint64_t round, double lower_potential, double upper_potential);

    /// Lower rungs of the pairs of a round: even ones in even rounds, odd ones in odd rounds.
    [[nodiscard]] std::vector<std::size_t> pairs_of(std::uint64_t round) const;

    /// All pairs of a round; `potentials` by replica. Trades that were accepted.
    std::vector<trade> trade_round(std::uint64_t round, const std::vector<double>& potentials);

private:
    std::vector<double> temperatures_;
    std::vector<std::size_t> rungs_;     ///< by replica
    std::vector<std::size_t> replicas_;  ///< by rung
    std::uint64_t seed_;
};

}  // namespace laneway::apps
