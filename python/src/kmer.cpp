// The k-mer program, its sequences and its reads.
#include "kmer/kmer.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "shared_sequences.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::kmer_options;
using apps::kmer_result;
using apps::simulated_reads;

void make_options(kmer_options* made, int k, bool canonical, std::uint64_t greatest, std::uint64_t distinct,
                  std::uint64_t table_bytes, const options& job) {
    new (made) kmer_options{job, k, canonical, greatest, distinct, table_bytes};
}

void make_reads(simulated_reads* made, std::uint64_t genome_length, double coverage, std::uint32_t read_length,
                double error_rate, std::uint64_t seed) {
    new (made) simulated_reads({genome_length, coverage, read_length, error_rate, seed});
}

kmer_result count(const shared_sequences& sequences, const kmer_options& options) {
    return apps::kmer_counter(*sequences.now(), options).run();
}

kmer_result count_reads(const simulated_reads& reads, const kmer_options& options) {
    return apps::kmer_counter(reads, options).run();
}

kmer_result sort(const shared_sequences& sequences, const kmer_options& options) {
    return apps::count_kmers_by_sorting(*sequences.now(), options);
}

kmer_result sort_reads(const simulated_reads& reads, const kmer_options& options) {
    return apps::count_kmers_by_sorting(reads.to_sequences(), options);
}

void register_sources(nb::module_& module) {
    nb::class_<shared_sequences>(module, "Sequences",
                                 "DNA sequences, packed: what k-mers are counted in. Any thread may read into them at "
                                 "any time; a count goes by the files that were whole when it began.")
        .def(nb::init<>())
        .def("read", &shared_sequences::read, "path"_a, nb::call_guard<interruptible>(),
             "Append the sequences of a FASTA or FASTQ file: all of them, or, where it is refused, none.")
        .def_prop_ro(
            "sequences", [](const shared_sequences& s) { return s.now()->sequences(); }, "Number of sequences.")
        .def_prop_ro(
            "bases", [](const shared_sequences& s) { return s.now()->bases(); },
            "Number of bases; other letters are gaps and not counted.")
        .def(
            "kmers", [](const shared_sequences& s, int k) { return s.now()->kmers(k); }, "k"_a,
            nb::call_guard<interruptible>(), "Number of places where `k` bases follow each other.");
    nb::class_<simulated_reads>(module, "SimulatedReads", "Reads of a random genome, made where they are needed.")
        .def("__init__", &make_reads, "genome_length"_a, "coverage"_a, "read_length"_a, "error_rate"_a, "seed"_a)
        .def_prop_ro("sequences", &simulated_reads::reads, "Number of reads.")
        .def_prop_ro("bases", &simulated_reads::bases, "Number of bases.");
}

}  // namespace

void register_kmer(nb::module_& module) {
    register_sources(module);
    nb::class_<kmer_options>(module, "KmerOptions")
        .def("__init__", &make_options, "k"_a, "canonical"_a, "greatest"_a, "distinct"_a, "table_bytes"_a, "job"_a);
    nb::class_<kmer_result>(module, "KmerResult")
        .def(
            "take_histogram", [](kmer_result& r) { return give(std::move(r.histogram)); },
            nb::sig("def take_histogram(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_ro("total", &kmer_result::total)
        .def_ro("distinct", &kmer_result::distinct)
        .def_ro("checksum", &kmer_result::checksum)
        .def_ro("slots", &kmer_result::slots)
        .def_ro("copy_seconds", &kmer_result::copy_seconds)
        .def_ro("tally_seconds", &kmer_result::tally_seconds)
        .def_ro("report", &kmer_result::report);
    const nb::call_guard<interruptible> guard;
    module.def("count_kmers", &count, "source"_a, "options"_a, guard);
    module.def("count_kmers", &count_reads, "source"_a, "options"_a, guard);
    module.def("count_kmers_by_sorting", &sort, "source"_a, "options"_a, guard);
    module.def("count_kmers_by_sorting", &sort_reads, "source"_a, "options"_a, guard);
}

}  // namespace laneway::python
