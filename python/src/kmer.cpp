// The k-mer program, its sequences and its reads.
#include "kmer/kmer.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <vector>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "laneway/base/error.hpp"
#include "module.hpp"
#include "one_call.hpp"
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

/// Counts, which any thread may look up.
class counted_kmers {
public:
    counted_kmers(const shared_sequences& sequences, const kmer_options& options)
        : counter_(*sequences.now(), options) {}
    counted_kmers(const simulated_reads& reads, const kmer_options& options) : counter_(reads, options) {}

    kmer_result run() {
        const std::lock_guard lock(call_);
        return counter_.run();
    }
    std::vector<std::uint64_t> counts_of(const std::vector<std::string>& kmers) {
        const std::lock_guard lock(call_);
        return counter_.counts_of(kmers);
    }

private:
    one_call call_{"counting or looking up these k-mers"};
    apps::kmer_counter counter_;
};

vector_array<std::uint64_t> counts_of(counted_kmers& counted, const std::vector<std::string>& kmers) {
    std::vector<std::uint64_t> counts;
    {
        const interruptible guard;
        counts = counted.counts_of(kmers);
    }
    return give(std::move(counts));
}

std::string_view letters_of(nb::handle text) {
    if (nb::isinstance<nb::bytes>(text)) {
        const auto bytes = nb::borrow<nb::bytes>(text);
        return {bytes.c_str(), bytes.size()};
    }
    Py_ssize_t size = 0;
    const char* const letters = nb::isinstance<nb::str>(text) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    if (letters == nullptr) {
        PyErr_Clear();
        throw usage_error(std::string("a sequence must be str or bytes, not ") + nb::type_name(text.type()).c_str());
    }
    return {letters, static_cast<std::size_t>(size)};
}

/// Takes texts until they have a million letters together, or there are no more, and packs them without Python's lock.
/// Returns whether there may be more.
bool add_some(nb::iterator& next, apps::packed_sequences& all) {
    constexpr std::size_t enough = 1'000'000;
    std::vector<nb::object> kept;  // alive while their letters are read
    std::vector<std::string_view> letters;
    for (std::size_t sum = 0; sum < enough && next != nb::iterator::sentinel(); ++next) {
        kept.push_back(nb::borrow(*next));
        letters.push_back(letters_of(kept.back()));
        sum += letters.back().size() + 1;
    }
    const interruptible guard;
    interruption::poll();
    for (const std::string_view sequence : letters) apps::add_sequence(sequence, all);
    return !letters.empty();
}

/// All of them, or, where one is refused, none.
void add_sequences(shared_sequences& to, const nb::object& texts) {
    apps::packed_sequences all;
    nb::iterator next = nb::iter(texts);
    while (add_some(next, all)) {
    }
    const interruptible guard;
    to.append(std::move(all));
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
            nb::call_guard<interruptible>(), "Number of places where `k` bases follow each other.")
        .def("add", &add_sequences, "sequences"_a,
             nb::sig("def add(self, sequences: typing.Iterable[str | bytes]) -> None"),
             "Append sequences from memory: all of them, or, where one is refused, none.");
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
    nb::class_<counted_kmers>(module, "CountedKmers")
        .def(nb::init<const shared_sequences&, const kmer_options&>(), "source"_a, "options"_a, guard)
        .def(nb::init<const simulated_reads&, const kmer_options&>(), "source"_a, "options"_a, guard)
        .def("run", &counted_kmers::run, guard)
        .def(
            "counts_of", &counts_of, "kmers"_a,
            nb::sig("def counts_of(self, kmers: collections.abc.Sequence[str]) -> numpy.typing.NDArray[numpy.uint64]"));
    module.def("count_kmers_by_sorting", &sort, "source"_a, "options"_a, guard);
    module.def("count_kmers_by_sorting", &sort_reads, "source"_a, "options"_a, guard);
}

}  // namespace laneway::python
