#include "laneway/graph/cache.hpp"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/system_reason.hpp"
#include "checksum.hpp"
#include "formats.hpp"
#include "laneway/base/draft_file.hpp"
#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "sound.hpp"

namespace laneway::graph {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t cache_version = 3;
constexpr std::size_t piece_bytes = std::size_t{16} << 20;  // of an array, between two looks at the interruption

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

// Calls f(first, bytes) for each piece of an array in order.
template <class Array, class F>
void for_each_piece(Array& array, F f) {
    auto* first = array.data();
    constexpr std::size_t most = piece_bytes / sizeof *first;
    for (std::size_t at = 0; at < array.size(); at += most) {
        interruption::poll();
        f(first + at, std::min(most, array.size() - at) * sizeof *first);
    }
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
    for_each_array(csr, ids, [&](const auto& array) {
        for_each_piece(array, [&](const void* data, std::size_t bytes) { sum.add(data, bytes); });
    });
    return sum.value();
}

// Whether the arrays are a graph, as those who walk through it take for granted. A checksum finds damage only: whoever
// can write an entry can make it fit.
template <class Csr>
bool sound(const Csr& csr, const numbering& ids) {
    const std::uint64_t n = csr.vertices();
    const auto& offsets = csr.offsets;
    if (offsets.front() != 0 || offsets.back() != csr.arcs() || !std::is_sorted(offsets.begin(), offsets.end()))
        return false;
    if (std::any_of(csr.heads.begin(), csr.heads.end(), [n](std::uint64_t head) { return head >= n; })) return false;
    return sound(ids);
}

// Whether `head` describes a file of `size_bytes` bytes; checked before anything of that size is allocated.
bool plausible(const header& head, std::uint64_t file_bytes) {
    const header expected;
    if (head.magic != expected.magic || head.version != expected.version || head.byte_order != expected.byte_order)
        return false;
    if ((head.id_bytes != 4 && head.id_bytes != 8) || head.weighted > 1 || head.weights_rounded > 1) return false;
    if (head.id_bytes == 4 && head.vertices > std::numeric_limits<std::uint32_t>::max()) return false;
    if (!possible_scale(head.weight_scale)) return false;
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
        for_each_piece(array, [&](void* data, std::size_t bytes) {
            in.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
        });
    });
    if (!in || checksum_of(head, csr, ids) != head.checksum || !sound(csr, ids)) return std::nullopt;
    return graph{std::move(csr), std::move(ids), head.weight_scale, head.weights_rounded == 1};
}

// Waits until the file system's clock, which ticks every few milliseconds, has left the time of the last change: what
// changes from now on has another time.
void let_the_clock_tick(const fs::path& source, const read_options& options) {
    const auto ticked = [](const timespec& changed) {
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return std::pair(now.tv_sec, now.tv_nsec) > std::pair(changed.tv_sec, changed.tv_nsec);
    };
    constexpr int max_looks = 50;  // a clock of another machine may be ahead
    for (const fs::path& file : source_files(source, options)) {
        struct stat found {};
        (void)::stat(file.c_str(), &found);
        for (int look = 0; look < max_looks && !ticked(found.st_ctim); ++look)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

std::string hexadecimal(std::uint64_t value) {
    std::array<char, 16> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr};
}

}  // namespace

fs::path cache_entry(const fs::path& source, const read_options& options, const fs::path& directory) {
    checksum key;
    const auto add = [&](std::int64_t value) { key.add(&value, sizeof value); };
    for (const fs::path& file : source_files(source, options)) {
        const std::string name = fs::absolute(file).lexically_normal().string();
        key.add(name.data(), name.size());
        struct stat found {};  // zeros where it is gone, which reading will tell
        (void)::stat(file.c_str(), &found);
        add(found.st_size);
        add(static_cast<std::int64_t>(found.st_dev));
        add(static_cast<std::int64_t>(found.st_ino));
        // Times of change cannot be set back, times of writing can.
        for (const timespec& time : {found.st_mtim, found.st_ctim}) {
            add(time.tv_sec);
            add(time.tv_nsec);
        }
    }
    add(options.format ? static_cast<int>(*options.format) : -1);
    add(static_cast<int>(options.ids));
    add(options.directed ? *options.directed : -1);
    add(options.unweighted);
    return directory / (source.filename().string() + "." + hexadecimal(key.value()) + ".csr");
}

void write_cache(const graph& graph, const fs::path& file) {
    draft_file draft(file);
    std::visit(
        [&](const auto& csr) {
            header head = describe(csr, graph);
            head.checksum = checksum_of(head, csr, graph.ids);
            draft.write(&head, sizeof head);
            for_each_array(csr, graph.ids,
                           [&](const auto& array) { draft.write(array.data(), array.size() * sizeof *array.data()); });
        },
        graph.arcs);
    draft.commit();
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

graph read_graph_cached(const fs::path& source, const read_options& options, const fs::path& directory,
                        const std::function<void(const std::string&)>& tell) {
    if (directory.empty()) throw usage_error("the cache directory's name is empty");
    std::error_code failed;
    if (!fs::is_regular_file(source, failed)) return read_graph(source, options);
    const fs::path entry = cache_entry(source, options, directory);
    if (auto cached = read_cache(entry)) return std::move(*cached);
    let_the_clock_tick(source, options);
    graph result = read_graph(source, options);
    fs::create_directories(directory, failed);
    if (failed)
        throw usage_error("the cache directory " + directory.string() + " cannot be made: " + reason_of(failed));
    try {
        write_cache(result, entry);
    } catch (const usage_error& error) {
        if (tell) tell(std::string("the graph is not kept for the next run: ") + error.what());
    }
    return result;
}

}  // namespace laneway::graph
