// Giga-updates per second: random updates of a table over many devices; the host's view.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"

namespace laneway {
class runtime;
}

namespace laneway::apps {

enum class gups_mode {
    hpcc,    ///< messages, within the look-ahead limit of HPC Challenge
    free,    ///< messages, as many under way as buffers hold
    binned,  ///< as free; the owner applies updates region after region
    raw,     ///< remote atomics instead of messages: what the others are compared with
};

/// Reads "hpcc", "free", "binned" or "raw"; throws usage_error for another word.
gups_mode parse_gups_mode(const std::string& text);

struct gups_options {
    options job;  ///< devices, deadline of each launch, seed, and the library's other knobs
    gups_mode mode = gups_mode::free;
    unsigned log2_words = 22;               ///< the table has 2^log2_words words of 8 bytes, over all PEs; 8 to 40
    std::optional<std::uint64_t> updates;   ///< over all PEs; default: four times the words
    std::uint64_t look_ahead = 1024;        ///< mode hpcc: most updates of a PE drawn and not yet applied
    std::uint64_t region_bytes = 2u << 20;  ///< mode binned: part of a PE's table that a log is for; a power of two
    /// Mode binned: updates that a PE logs in one round; default: half as many as it has words, but 2^16 to 2^31.
    std::optional<std::uint64_t> round_updates;
};

struct gups_result {
    std::uint64_t words = 0;
    std::uint64_t updates = 0;
    std::uint64_t rounds = 1;   ///< mode binned: times that the table was swept
    std::uint64_t refused = 0;  ///< mode binned: updates that found their log full and went past it
    run_report report;

    [[nodiscard]] double updates_per_second() const { return static_cast<double>(updates) / report.run_seconds; }
};

/// Outcome of a replay on the devices.
struct gups_check {
    std::uint64_t errors = 0;       ///< words that are not what the updates make of them
    std::uint64_t first_error = 0;  ///< number of the first of them
    double seconds = 0;             ///< of applying all updates once, without messages
};

/// A table in the devices' memory, and runs of updates on it. Host only; one call at a time.
///
/// The table starts as table[i] = i. An update with the random value a does table[a mod words] ^= a; the values are the
/// stream of HPC Challenge RandomAccess (polynomial 7), every lane starting at its own place in it. Nothing is lost, so
/// that a check finds no error, where HPCC allows 1 % of the words.
class gups_table {
public:
    /// Allocates. Throws usage_error for sizes that make no sense, limits of 0, and raw updates between devices that
    /// do not share memory. `devices`: opened by the caller, and `options.job` is theirs; null: opens its own.
    explicit gups_table(const gups_options& options, std::shared_ptr<runtime> devices = {});
    ~gups_table();
    gups_table(gups_table&&) noexcept;

    /// Sets the table to its start and runs the updates. Throws timeout_error and device_fault for a failed run.
    gups_result run();

    /// After a run: every device draws all updates again and undoes those of its own words, and each word must hold its
    /// number. Leaves the table as it was; where a check ends before its end, by a deadline for instance, the table is
    /// lost, and usage_error says so from then on. Throws as run does.
    gups_check check();

    /// The table, word i of all PEs at [i].
    [[nodiscard]] std::vector<std::uint64_t> words() const;

    class implementation;

private:
    std::unique_ptr<implementation> implementation_;
};

/// The whole benchmark again on one core, with nothing but a vector: the reference answer.
std::vector<std::uint64_t> gups_reference(unsigned log2_words, std::uint64_t updates);

}  // namespace laneway::apps
