// Counting k-mers over many devices: the host's view.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "sequences.hpp"
#include "simulated_reads.hpp"

namespace laneway {
class runtime;
}

namespace laneway::apps {

struct kmer_options {
    options job;                     ///< devices, deadline of each launch, seed, and the library's other knobs
    int k = 21;                      ///< bases of a k-mer, 1 to 63
    bool canonical = true;           ///< a k-mer and its reverse complement count as one, the lesser of them
    std::uint64_t greatest = 10000;  ///< most occurrences that have a bin of their own in the histogram
    std::uint64_t distinct = 0;      ///< most distinct k-mers expected, which sizes the tables; 0: as many as there are
    std::uint64_t table_bytes = std::uint64_t{16} << 30;  ///< most memory of a PE's table
};

struct kmer_result {
    std::vector<std::uint64_t> histogram;  ///< [m]: distinct k-mers that occur m times; the last entry: or oftener
    std::uint64_t total = 0;               ///< k-mers counted, with repetitions
    std::uint64_t distinct = 0;            ///< k-mers counted, without
    std::uint64_t checksum = 0;            ///< of all k-mers and their counts: the same on any devices
    std::uint64_t slots = 0;               ///< of all PEs' tables
    double copy_seconds = 0;               ///< spreading the sequences over the devices, or making them there
    double tally_seconds = 0;              ///< reading the tables for the histogram, after the run
    run_report report;                     ///< of counting: from packed symbols on the devices to full tables

    [[nodiscard]] double load_factor() const { return static_cast<double>(distinct) / static_cast<double>(slots); }
    [[nodiscard]] double kmers_per_second() const { return static_cast<double>(total) / report.run_seconds; }
};

/// Sequences spread evenly over the devices' memory, and counts of their k-mers. Host only; one call at a time.
class kmer_counter {
public:
    /// Copies the sequences. Throws usage_error for devices that do not exist, k and limits out of range, and
    /// sequences that hold no k-mer. `devices`: opened by the caller, and `options.job` is theirs; null: opens its own.
    kmer_counter(const packed_sequences& sequences, const kmer_options& options, std::shared_ptr<runtime> devices = {});
    /// Makes the reads on the devices.
    kmer_counter(const simulated_reads& reads, const kmer_options& options, std::shared_ptr<runtime> devices = {});
    ~kmer_counter();
    kmer_counter(kmer_counter&&) noexcept;

    /// Counts from the beginning. Throws timeout_error and device_fault for a failed run: also where a table is full,
    /// naming PE and slots. Method: every k-mer is posted to the PE that its hash names, which counts it in an
    /// open-addressing table (table.hpp).
    kmer_result run();

    /// How often each of `kmers` has been counted by the last run, 0 where never: of k letters ACGT, of either case. A
    /// k-mer and its reverse complement have one count where k-mers are canonical. Throws usage_error before a run, and
    /// for what is no k-mer, with its number from 1.
    [[nodiscard]] std::vector<std::uint64_t> counts_of(const std::vector<std::string>& kmers);

    class implementation;

private:
    std::unique_ptr<implementation> implementation_;
};

/// The reference: sorts all k-mers on one core. Gives histogram, total, distinct; the checksum is 0.
kmer_result count_kmers_by_sorting(const packed_sequences& sequences, const kmer_options& options);

}  // namespace laneway::apps
