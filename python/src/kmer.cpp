// The k-mer program, its sequences and its reads.
#include "kmer/kmer.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "laneway/base/error.hpp"
#include "module.hpp"
#include "session.hpp"
#include "shared_sequences.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::kmer_options;
using apps::kmer_result;
using apps::simulated_reads;

void make_kmer_options(kmer_options* made, int k, bool canonical, std::uint64_t greatest, std::uint64_t distinct,
                       std::uint64_t table_bytes, const options& job) {
    new (made) kmer_options{job, k, canonical, greatest, distinct, table_bytes};
}

void make_reads(simulated_reads* made, std::uint64_t genome_length, double coverage, std::uint32_t read_length,
                double error_rate, std::uint64_t seed) {
    new (made) simulated_reads({genome_length, coverage, read_length, error_rate, seed});
}

/// Counts, which any thread may look up as long as the session is open.
using counted_kmers = in_session<apps::kmer_counter>;

void count_sequences(counted_kmers* made, std::shared_ptr<session> owner, const shared_sequences& sequences,
                     const kmer_options& options) {
    const interruptible guard;
    const auto now = sequences.now();
    new (made) counted_kmers(std::move(owner), [&](apps::workspace& workspace) {
        return workspace.run([&](const std::shared_ptr<runtime>& devices) {
            return std::make_shared<apps::kmer_counter>(*now, options, devices);
        });
    });
}

void count_reads(counted_kmers* made, std::shared_ptr<session> owner, const simulated_reads& reads,
                 const kmer_options& options) {
    const interruptible guard;
    new (made) counted_kmers(std::move(owner), [&](apps::workspace& workspace) {
        return workspace.run([&](const std::shared_ptr<runtime>& devices) {
            return std::make_shared<apps::kmer_counter>(reads, options, devices);
        });
    });
}

vector_array<std::uint64_t> counts_of(const counted_kmers& counted, const std::vector<std::string>& kmers) {
    std::vector<std::uint64_t> counts;
    {
        const interruptible guard;
        counts = counted.call([&](apps::kmer_counter& counter) { return counter.counts_of(kmers); });
    }
    return give(std::move(counts));
}

/// The letters of a sequence, which live as long as what `text` is then.
std::string_view letters_of(nb::object& text) {
    if (nb::isinstance<nb::str>(text)) {
        Py_ssize_t size = 0;
        if (const char* const letters = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
            return {letters, static_cast<std::size_t>(size)};
        }
        PyErr_Clear();
        text = encoded(text);
    }
    if (!nb::isinstance<nb::bytes>(text)) {
        throw usage_error(std::string("a sequence must be str or bytes, not ") + nb::type_name(text.type()).c_str());
    }
    const auto bytes = nb::borrow<nb::bytes>(text);
    return {bytes.c_str(), bytes.size()};
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
        .def("__init__", &make_kmer_options, "k"_a, "canonical"_a, "greatest"_a, "distinct"_a, "table_bytes"_a,
             "job"_a);
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
        .def("__init__", &count_sequences, "session"_a, "source"_a, "options"_a)
        .def("__init__", &count_reads, "session"_a, "source"_a, "options"_a)
        .def(
            "run",
            [](const counted_kmers& counted) {
                return counted.call([](apps::kmer_counter& counter) { return counter.run(); });
            },
            guard)
        .def(
            "counts_of", &counts_of, "kmers"_a,
            nb::sig("def counts_of(self, kmers: collections.abc.Sequence[str]) -> numpy.typing.NDArray[numpy.uint64]"));
    module.def("count_kmers_by_sorting", &sort, "source"_a, "options"_a, guard);
    module.def("count_kmers_by_sorting", &sort_reads, "source"_a, "options"_a, guard);
}

}  // namespace laneway::python
