#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "formats.hpp"

namespace laneway::graph {
namespace {

// The numbers of a line; a field that is none counts as 0.
struct number_line {
    std::size_t fields = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t greatest = 0;
    std::array<std::uint64_t, 3> first{};
    std::size_t numbers = 0;  // how many fields at the start are numbers
};

// What the sampled lines look like, comments left out. A last line that the sample cuts is not looked at.
struct shape {
    std::string_view first;
    number_line header;
    std::size_t rows = 0;                                             // lines after the first that are not blank
    std::size_t row_fields = 0;                                       // fields of all rows
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();  // of the rows' numbers
    std::uint64_t greatest = 0;
    bool uneven = false;  // some row has another number of fields than the first line
    bool hashes = false;  // there are # comments
};

bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

number_line look_at(std::string_view line) {
    number_line seen;
    const char* at = line.data();
    const char* end = at + line.size();
    for (;; ++seen.fields) {
        at = std::find_if_not(at, end, blank);
        if (at == end) return seen;
        const char* field_end = std::find_if(at, end, blank);
        std::uint64_t value = 0;
        const auto [behind, error] = std::from_chars(at, field_end, value);
        const bool number = behind == field_end;
        if (error == std::errc::result_out_of_range) value = std::numeric_limits<std::uint64_t>::max();
        if (number && seen.numbers == seen.fields) ++seen.numbers;
        if (number && seen.fields < seen.first.size()) seen.first[seen.fields] = value;
        seen.least = std::min(seen.least, value);
        seen.greatest = std::max(seen.greatest, value);
        at = field_end;
    }
}

bool comment(std::string_view line) {
    return line.starts_with('#') || line.starts_with('%') || line == "c" || line.starts_with("c ");
}

void add_line(std::string_view line, shape& seen) {
    seen.hashes = seen.hashes || line.starts_with('#');
    if (comment(line)) return;
    const number_line numbers = look_at(line);
    if (seen.first.empty()) {
        if (numbers.fields == 0) return;
        seen.first = line.substr(line.find_first_not_of(" \t"));
        seen.header = numbers;
        return;
    }
    seen.uneven = seen.uneven || numbers.fields != seen.header.fields;
    seen.rows += numbers.fields > 0;
    seen.row_fields += numbers.fields;
    seen.least = std::min(seen.least, numbers.least);
    seen.greatest = std::max(seen.greatest, numbers.greatest);
}

shape look(std::string_view text, bool whole) {
    shape seen;
    while (!text.empty()) {
        const std::size_t size = std::min(text.find('\n'), text.size());
        if (size == text.size() && !whole && !seen.first.empty()) break;
        std::string_view line = text.substr(0, size);
        text.remove_prefix(std::min(size + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        add_line(line, seen);
    }
    return seen;
}

// A METIS file starts with its counts, comments are %, and lines differ in length as the vertices' degrees do. Where
// all have the same length, the counts decide. Without vertices, 0 0, an edge is likelier.
bool looks_like_metis(const shape& seen, bool whole) {
    const auto [vertices, edges, format] = seen.header.first;
    const std::size_t fields = seen.header.fields;
    if (seen.hashes || fields < 2 || fields > 4 || seen.header.numbers != fields || vertices == 0) return false;
    if (format > 111 || format % 10 > 1 || seen.rows > vertices) return false;
    if (fields == 2 && seen.rows > 0 && (seen.least == 0 || seen.greatest > vertices)) return false;
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
    if (text.size() >= banner.size() &&
        std::equal(banner.begin(), banner.end(), text.begin(), [&](char b, char a) { return same(a, b); }))
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
    if (seen.header.numbers < std::min<std::size_t>(2, seen.header.fields))
        source.fail("the format is not known from the first line " + shown(seen.first) +
                    "; name it by the format option");
    return looks_like_metis(seen, source.sample_is_all()) ? file_format::metis : file_format::snap;
}

}  // namespace laneway::graph
