#include "laneway/graph/cache.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "checksum.hpp"
#include "formats.hpp"
#include "laneway/base/error.hpp"

namespace laneway::graph {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t cache_version = 2;

// First bytes of an entry. The arrays follow in the order offsets, heads, weights, labels. All in the byte order of
// the machine that wrote it, which `byte_order` tells.
struct header {
    std::array<char, 8> magic{'l', 'a', 'n', 'e', 'w', 'a', 'y', '\n'};
    std::uint32_t version = cache_version;
    std::uint32_t byte_order = 0x01020304;
    std::uint64_t vertices = 0;
    std::uint64_t arcs = 0;
    std::uint32_t id_bytes = 0;
    std::uint16_t weighted = 0;
    std::uint16_t weights_rounded = 0;
    std::uint64_t weight_scale = 1;
    std::uint64_t first = 0;
    std::uint64_t labels = 0;
    std::uint64_t checksum = 0;  // of the header with 0 here, then of each array
};
static_assert(sizeof(header) == 72 && std::has_unique_object_representations_v<header>);

template <class Csr>
using vertex_of = typename decltype(Csr::heads)::value_type;

// Calls f on each array of an entry in file order; Csr and numbering may be const.
template <class Csr, class Numbering, class F>
void for_each_array(Csr& csr, Numbering& ids, F f) {
    f(csr.offsets);
    f(csr.heads);
    f(csr.weights);
    f(ids.labels);
}

template <class T>
std::size_t size_bytes(const std::vector<T>& array) {
    return array.size() * sizeof(T);
}

template <class Csr>
header describe(const Csr& csr, const graph& graph) {
    const numbering& ids = graph.ids;
    header head;
    head.vertices = csr.vertices();
    head.arcs = csr.arcs();
    head.id_bytes = sizeof(vertex_of<Csr>);
    head.weighted = csr.weighted() ? 1 : 0;
    head.weights_rounded = graph.weights_rounded ? 1 : 0;
    head.weight_scale = graph.weight_scale;
    head.first = ids.first;
    head.labels = ids.labels.size();
    return head;
}

template <class Csr>
std::uint64_t checksum_of(header head, const Csr& csr, const numbering& ids) {
    checksum sum;
    head.checksum = 0;
    sum.add(&head, sizeof head);
    for_each_array(csr, ids, [&](const auto& array) { sum.add(array.data(), size_bytes(array)); });
    return sum.value();
}

// Whether `head` describes a file of `size_bytes` bytes; checked before anything of that size is allocated.
bool plausible(const header& head, std::uint64_t file_bytes) {
    const header expected;
    if (head.magic != expected.magic || head.version != expected.version || head.byte_order != expected.byte_order)
        return false;
    if ((head.id_bytes != 4 && head.id_bytes != 8) || head.weighted > 1 || head.weights_rounded > 1) return false;
    if (head.vertices > file_bytes || head.arcs > file_bytes || head.labels > file_bytes) return false;
    const std::uint64_t each_arc = head.id_bytes + 4 * head.weighted;
    return sizeof head + 8 * (head.vertices + 1) + each_arc * head.arcs + 8 * head.labels == file_bytes;
}

template <class Csr>
std::optional<graph> read_arrays(std::ifstream& in, const header& head) {
    Csr csr;
    numbering ids;
    csr.offsets.resize(head.vertices + 1);
    csr.heads.resize(head.arcs);
    csr.weights.resize(head.weighted ? head.arcs : 0);
    ids.labels.resize(head.labels);
    ids.first = head.first;
    ids.vertices = head.vertices;
    for_each_array(csr, ids, [&](auto& array) {
        in.read(reinterpret_cast<char*>(array.data()), static_cast<std::streamsize>(size_bytes(array)));
    });
    if (!in || checksum_of(head, csr, ids) != head.checksum) return std::nullopt;
    return graph{std::move(csr), std::move(ids), head.weight_scale, head.weights_rounded == 1};
}

std::vector<fs::path> source_files(const fs::path& source, const read_options& options) {
    if (options.format && *options.format != file_format::ldbc) return {source};
    const auto pair = find_ldbc_files(source);
    if (!pair) return {source};
    if (pair->properties.empty()) return {pair->vertices, pair->edges};
    return {pair->vertices, pair->edges, pair->properties};
}

std::string hexadecimal(std::uint64_t value) {
    std::array<char, 16> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr};
}

}  // namespace

fs::path cache_entry(const fs::path& source, const read_options& options, const fs::path& directory) {
    std::error_code failed;
    checksum key;
    const auto add = [&](std::int64_t value) { key.add(&value, sizeof value); };
    for (const fs::path& file : source_files(source, options)) {
        const std::string name = fs::absolute(file).lexically_normal().string();
        key.add(name.data(), name.size());
        add(static_cast<std::int64_t>(fs::file_size(file, failed)));
        add(fs::last_write_time(file, failed).time_since_epoch().count());
    }
    add(options.format ? static_cast<int>(*options.format) : -1);
    add(static_cast<int>(options.ids));
    add(options.directed ? *options.directed : -1);
    add(options.unweighted);
    return directory / (source.filename().string() + "." + hexadecimal(key.value()) + ".csr");
}

void write_cache(const graph& graph, const fs::path& file) {
    fs::path draft = file;
    draft += "." + std::to_string(::getpid()) + ".tmp";
    const bool written = std::visit(
        [&](const auto& csr) {
            header head = describe(csr, graph);
            head.checksum = checksum_of(head, csr, graph.ids);
            std::ofstream out(draft, std::ios::binary);
            out.write(reinterpret_cast<const char*>(&head), sizeof head);
            for_each_array(csr, graph.ids, [&](const auto& array) {
                out.write(reinterpret_cast<const char*>(array.data()), static_cast<std::streamsize>(size_bytes(array)));
            });
            out.close();
            return out.good();
        },
        graph.arcs);
    std::error_code failed;
    if (written) fs::rename(draft, file, failed);
    if (written && !failed) return;
    std::error_code ignored;
    fs::remove(draft, ignored);
    throw usage_error("the cache entry " + file.string() + " cannot be written");
}

std::optional<graph> read_cache(const fs::path& file) {
    std::error_code failed;
    const std::uint64_t file_bytes = fs::file_size(file, failed);
    if (failed) return std::nullopt;
    std::ifstream in(file, std::ios::binary);
    header head;
    if (!in.read(reinterpret_cast<char*>(&head), sizeof head) || !plausible(head, file_bytes)) return std::nullopt;
    return head.id_bytes == 4 ? read_arrays<csr32>(in, head) : read_arrays<csr64>(in, head);
}

graph read_graph_cached(const fs::path& source, const read_options& options, const fs::path& directory) {
    std::error_code failed;
    if (!fs::is_regular_file(source, failed)) return read_graph(source, options);
    const fs::path entry = cache_entry(source, options, directory);
    if (auto cached = read_cache(entry)) return std::move(*cached);
    graph result = read_graph(source, options);
    fs::create_directories(directory, failed);
    if (failed) throw usage_error("the cache directory " + directory.string() + " cannot be made: " + failed.message());
    write_cache(result, entry);
    return result;
}

}  // namespace laneway::graph
