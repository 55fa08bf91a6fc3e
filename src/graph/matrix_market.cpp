#include <algorithm>
#include <cctype>

#include "build.hpp"
#include "edge_lines.hpp"
#include "formats.hpp"

namespace laneway::graph {
namespace {

std::string lower_word(field_reader& fields) {
    std::string word(fields.word());
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    return word;
}

class matrix_market_reader {
public:
    matrix_market_reader(text_source& source, const read_options& options) : source_(source), options_(options) {}

    graph read() {
        read_banner();
        read_size();
        arcs_.keep_weights(field_ != "pattern" && !options_.unweighted);
        mirrored_ = !options_.directed.value_or(!symmetric_);
        std::string_view line;
        while (source_.next_line(line)) take_entry(line);
        if (arcs_.size() < entries_)
            source_.fail("the file ends after " + std::to_string(arcs_.size()) + " of " + std::to_string(entries_) +
                         " announced entries");
        graph result = build_graph(arcs_, contiguous(1, vertices_), mirrored_, options_.ids);
        scale_weights(source_, weights_, result);
        return result;
    }

private:
    void read_banner() {
        std::string_view line;
        source_.next_line(line);
        field_reader fields(source_, line);
        if (lower_word(fields) != "%%matrixmarket") source_.fail("missing the %%MatrixMarket line");
        if (lower_word(fields) != "matrix" || lower_word(fields) != "coordinate")
            source_.fail("only 'matrix coordinate' files hold a graph");
        field_ = lower_word(fields);
        const std::string symmetry = lower_word(fields);
        const auto among = [](const std::string& word, std::initializer_list<const char*> words) {
            return std::find(words.begin(), words.end(), word) != words.end();
        };
        if (!among(field_, {"pattern", "integer", "real", "complex"})) source_.fail("unknown field " + shown(field_));
        if (!among(symmetry, {"general", "symmetric", "skew-symmetric", "hermitian"}))
            source_.fail("unknown symmetry " + shown(symmetry));
        symmetric_ = symmetry != "general";
        skew_ = symmetry == "skew-symmetric";
        if (field_ == "complex" && !options_.unweighted)
            source_.fail(std::string("complex values are no weights") + arcs_alone);
    }

    void read_size() {
        std::string_view line;
        do {
            if (!source_.next_line(line)) source_.fail("missing the size line");
        } while (line.starts_with('%') || field_reader(source_, line).done());
        field_reader fields(source_, line);
        vertices_ = fields.number("number of rows");
        const std::uint64_t columns = fields.number("number of columns");
        entries_ = fields.number("number of entries");
        fields.finish();
        if (columns != vertices_)
            source_.fail("a graph needs a square matrix, not " + std::to_string(vertices_) + " x " +
                         std::to_string(columns));
        check_vertices(source_, {vertices_, source_.line_number()}, entries_, options_.ids);
    }

    void take_entry(std::string_view line) {
        field_reader fields(source_, line);
        if (fields.done() || line.front() == '%') return;
        const std::uint64_t tail = index(fields);
        const std::uint64_t head = index(fields);
        const std::uint32_t weight = value(fields);
        fields.finish();
        if (skew_ && mirrored_ && arcs_.weighted() && weight != 0 && tail != head)
            source_.fail("the skew-symmetric entry stands for a negative weight as well" + std::string(arcs_alone));
        if (arcs_.size() == entries_) source_.fail("more entries than the " + std::to_string(entries_) + " announced");
        arcs_.push(tail, head, weight);
    }

    std::uint64_t index(field_reader& fields) {
        const std::uint64_t id = fields.number("index");
        if (id - 1 >= vertices_)
            source_.fail("index " + std::to_string(id) + " is outside 1.." + std::to_string(vertices_));
        return id - 1;
    }

    std::uint32_t value(field_reader& fields) {
        if (field_ == "pattern") return 1;
        if (arcs_.weighted()) return read_decimal(source_, fields, weights_, arcs_);
        for (int part = 0; part < (field_ == "complex" ? 2 : 1); ++part) skip_decimal(source_, fields);
        return 1;
    }

    text_source& source_;
    const read_options& options_;
    arc_buffer arcs_;
    decimal_weights weights_;
    std::string field_;
    std::uint64_t vertices_ = 0;
    std::uint64_t entries_ = 0;
    bool symmetric_ = false;
    bool skew_ = false;      // the mirrored entries have the other sign
    bool mirrored_ = false;  // an entry is an arc each way
};

}  // namespace

graph read_matrix_market(text_source& source, const read_options& options) {
    return matrix_market_reader(source, options).read();
}

}  // namespace laneway::graph
