#include <algorithm>
#include <system_error>
#include <utility>

#include "build.hpp"
#include "edge_lines.hpp"
#include "formats.hpp"
#include "id_set.hpp"
#include "laneway/base/error.hpp"

namespace laneway::graph {
namespace {

namespace fs = std::filesystem;

bool compressed(const fs::path& path) { return path.extension() == ".gz" || path.extension() == ".xz"; }

fs::path existing(const fs::path& stem, const char* extension) {
    for (const char* packed : {"", ".gz", ".xz"}) {
        fs::path file = stem;
        file += extension;
        file += packed;
        std::error_code none_there;
        if (fs::is_regular_file(file, none_there)) return file;
    }
    return {};
}

/// Calls f(id) for every vertex of a file in order; `source` then names its line.
template <class F>
void for_each_vertex(text_source& source, F f) {
    std::string_view line;
    while (source.next_line(line)) {
        field_reader fields(source, line);
        if (fields.done() || line.front() == '#') continue;
        f(fields.number("vertex"));
    }
}

/// Throws usage_error that names the second line of a vertex that has two.
[[noreturn]] void fail_at_second(const fs::path& path, std::uint64_t vertex) {
    text_source again(path);
    const std::string reason = "vertex " + std::to_string(vertex) + " is listed twice";
    bool seen = false;
    for_each_vertex(again, [&](std::uint64_t id) {
        if (id == vertex && std::exchange(seen, true)) again.fail(reason);
    });
    again.fail_at(0, reason);  // it has been changed meanwhile
}

std::vector<std::uint64_t> read_vertices(text_source& source) {
    std::vector<std::uint64_t> ids;
    for_each_vertex(source, [&](std::uint64_t id) { ids.push_back(id); });
    if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    if (twice != ids.end()) fail_at_second(source.path(), *twice);
    return ids;
}

// The line `graph.<name>.directed = true` or `false`.
bool says_directed(const fs::path& properties) {
    text_source source(properties);
    std::string_view line;
    while (source.next_line(line)) {
        field_reader fields(source, line);
        if (!fields.word().ends_with(".directed") || fields.word() != "=") continue;
        const std::string_view value = fields.word();
        if (value != "true" && value != "false") source.fail("directed is " + shown(value) + ", not true or false");
        return value == "true";
    }
    source.fail_at(0, "no line says whether the graph is directed");
}

}  // namespace

std::optional<ldbc_files> find_ldbc_files(const fs::path& path) {
    fs::path stem = path;
    if (compressed(stem)) stem.replace_extension();
    const bool of_vertices = stem.extension() == ".v";
    if (!of_vertices && stem.extension() != ".e") return std::nullopt;
    stem.replace_extension();
    ldbc_files files{existing(stem, ".v"), existing(stem, ".e"), existing(stem, ".properties")};
    std::error_code none_there;
    if (fs::is_regular_file(path, none_there)) (of_vertices ? files.vertices : files.edges) = path;
    if (files.vertices.empty() || files.edges.empty()) return std::nullopt;
    return files;
}

graph read_ldbc(const fs::path& path, const read_options& options) {
    const auto files = find_ldbc_files(path);
    if (!files) text_source(path).fail("an LDBC graph is a .v and a .e file side by side");
    text_source vertices(files->vertices);
    id_set ids(read_vertices(vertices));
    text_source edges(files->edges, true);
    const auto place = [&](std::uint64_t id) {
        const std::uint64_t found = ids.find(id);
        if (found == id_set::none)
            edges.fail("vertex " + std::to_string(id) + " is not in " + files->vertices.filename().string());
        return found;
    };
    const auto ends = [&](std::uint64_t& tail, std::uint64_t& head, const arc_buffer&) {
        tail = place(tail);
        head = place(head);
    };
    edge_lines lines = read_edge_lines(edges, options.unweighted, ends);
    const bool directed =
        options.directed ? *options.directed : !files->properties.empty() && says_directed(files->properties);
    numbering numbers = ids.release();
    check_width(vertices, {numbers.vertices, 0}, options.ids);
    graph result = build_graph(lines.arcs, std::move(numbers), !directed, options.ids);
    scale_weights(edges, lines.weights, result);
    return result;
}

}  // namespace laneway::graph
