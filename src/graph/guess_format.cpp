#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "formats.hpp"

namespace laneway::graph {
namespace {

// What the sampled lines look like, comments left out. A last line that the sample cuts is not looked at.
struct shape {
    std::string_view first;
    std::array<std::uint64_t, 3> header{};  // the first line's numbers
    std::size_t header_fields = 0;
    std::size_t rows = 0;        // lines after the first that are not blank
    std::size_t row_fields = 0;  // fields of all rows
    bool uneven = false;         // some row has another number of fields than the first line
    bool numbers = true;         // the first line is numbers alone
};

std::size_t count_fields(std::string_view line) {
    std::size_t count = 0;
    bool inside = false;
    for (const char c : line) {
        const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
        count += !blank && !inside;
        inside = !blank;
    }
    return count;
}

void look_at_first(std::string_view line, shape& seen) {
    seen.first = line.substr(line.find_first_not_of(" \t"));
    seen.header_fields = count_fields(line);
    const char* at = line.data();
    const char* end = at + line.size();
    for (std::size_t i = 0; i < std::min(seen.header_fields, seen.header.size()); ++i) {
        while (at != end && (*at == ' ' || *at == '\t')) ++at;
        const auto [next, failed] = std::from_chars(at, end, seen.header[i]);
        seen.numbers = seen.numbers && failed == std::errc{};
        at = next;
    }
}

bool comment(std::string_view line) {
    return line.starts_with('#') || line.starts_with('%') || line == "c" || line.starts_with("c ");
}

shape look(std::string_view text, bool whole) {
    shape seen;
    while (!text.empty()) {
        const std::size_t size = std::min(text.find('\n'), text.size());
        if (size == text.size() && !whole && !seen.first.empty()) break;
        std::string_view line = text.substr(0, size);
        text.remove_prefix(std::min(size + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t fields = count_fields(line);
        if (comment(line)) continue;
        if (seen.first.empty()) {
            if (fields > 0) look_at_first(line, seen);
            continue;
        }
        seen.uneven = seen.uneven || fields != seen.header_fields;
        seen.row_fields += fields;
        seen.rows += fields > 0;
    }
    return seen;
}

// A METIS file starts with its counts, and its lines differ in length as the vertices' degrees do. Where all have the
// same length, the counts decide.
bool looks_like_metis(const shape& seen, bool whole) {
    const auto [vertices, edges, format] = seen.header;
    const bool header = seen.header_fields >= 2 && seen.header_fields <= 4 && format <= 111 && format % 10 <= 1;
    if (!header || seen.rows > vertices) return false;
    if (seen.uneven) return true;
    return whole && seen.rows == vertices && (seen.row_fields == 2 * edges || seen.row_fields == edges);
}

std::string extension(const text_source& source) {
    std::filesystem::path path = source.path();
    if (path.extension() == ".gz" || path.extension() == ".xz") path.replace_extension();
    return path.extension().string();
}

}  // namespace

file_format guess_format(const text_source& source) {
    const std::string_view text = source.sample();
    constexpr std::string_view banner = "%%matrixmarket";
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    if (text.size() >= banner.size() && std::equal(banner.begin(), banner.end(), text.begin(), [&](char b, char a) {
            return same(a, b);
        }))
        return file_format::matrix_market;
    const shape seen = look(text, source.sample_is_all());
    const std::string name = extension(source);
    for (const char* start : {"p ", "p\t", "a ", "a\t"})
        if (seen.first.starts_with(start)) return file_format::dimacs;
    if (name == ".gr") return file_format::dimacs;
    if (name == ".mtx") return file_format::matrix_market;
    if (name == ".v") source.fail("LDBC vertices without their edges: no .e file of that name beside it");
    if (name == ".el" || name == ".wel") return file_format::edge_list;
    if (name == ".graph" || name == ".metis" || name == ".chaco") return file_format::metis;
    if (seen.first.empty()) source.fail("only comments: no format to be told from them");
    if (!seen.numbers)
        source.fail("the format is not known from the first line " + shown(seen.first) + "; name it by the format option");
    return looks_like_metis(seen, source.sample_is_all()) ? file_format::metis : file_format::snap;
}

}  // namespace laneway::graph
