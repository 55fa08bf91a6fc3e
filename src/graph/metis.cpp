#include "build.hpp"
#include "edge_lines.hpp"
#include "formats.hpp"
#include "laneway/base/error.hpp"

namespace laneway::graph {
namespace {

constexpr std::uint64_t max_edges = std::uint64_t{1} << 62;

class metis_reader {
public:
    metis_reader(text_source& source, const read_options& options) : source_(source), options_(options) {
        read_header();
    }

    [[nodiscard]] bool sized() const { return sized_; }
    void ignore_sizes() { sized_ = false; }

    graph read() {
        arcs_.keep_weights(weighted_ && !options_.unweighted);
        std::string_view line;
        std::uint64_t row = 0;
        while (row < vertices_) {
            if (!source_.next_line(line))
                source_.fail("the file ends after the lines of " + std::to_string(row) + " of " +
                             std::to_string(vertices_) + " announced vertices");
            if (!line.starts_with('%')) take_row(line, row++);
        }
        while (source_.next_line(line)) {
            if (!line.starts_with('%') && !field_reader(source_, line).done())
                source_.fail("more lines than the " + std::to_string(vertices_) + " announced vertices");
        }
        const bool mirrored = !listed_both_ways() && !options_.directed.value_or(true);
        return build_graph(arcs_, contiguous(1, vertices_), mirrored, options_.ids);
    }

private:
    void read_header() {
        std::string_view line;
        do {
            if (!source_.next_line(line)) source_.fail("missing the header line");
        } while (line.starts_with('%') || field_reader(source_, line).done());
        field_reader fields(source_, line);
        vertices_ = fields.number("number of vertices");
        edges_ = fields.number("number of edges");
        const std::uint64_t format = fields.done() ? 0 : fields.number("format");
        if (format > 111 || format % 10 > 1 || format / 10 % 10 > 1)
            source_.fail("format " + std::to_string(format) + " is not three digits 0 or 1");
        sized_ = format >= 100;
        weighted_ = format % 10 == 1;
        vertex_weights_ = format / 10 % 10;
        if (!fields.done()) {
            const std::uint64_t constraints = fields.number("number of vertex weights");
            vertex_weights_ *= constraints;
        }
        fields.finish();
        if (edges_ > max_edges)
            source_.fail(std::to_string(edges_) + " edges: over the limit of " + std::to_string(max_edges));
        check_vertices(source_, {vertices_, source_.line_number()}, edges_, options_.ids);
    }

    void take_row(std::string_view line, std::uint64_t row) {
        field_reader fields(source_, line);
        if (sized_) fields.number("vertex size");
        for (std::uint64_t i = 0; i < vertex_weights_; ++i) fields.number("vertex weight");
        while (!fields.done()) {
            const std::uint64_t neighbour = fields.number("neighbour");
            if (neighbour - 1 >= vertices_)
                source_.fail("neighbour " + std::to_string(neighbour) + " is outside 1.." + std::to_string(vertices_));
            if (weighted_ && !arcs_.weighted()) skip_decimal(source_, fields);
            arcs_.push(row, neighbour - 1, arcs_.weighted() ? fields.weight() : 1);
            if (neighbour - 1 == row) ++loops_;
        }
    }

    // METIS lists every edge from both ends; GAP's files list and announce arcs, and have no sizes.
    bool listed_both_ways() const {
        const std::uint64_t entries = arcs_.size();
        if (entries == 2 * edges_ || entries + loops_ == 2 * edges_) return true;
        if (entries != edges_ || sized_)
            source_.fail(std::to_string(entries) + " neighbours for " + std::to_string(edges_) + " announced edges" +
                         (sized_ ? ", which are listed from both ends" : ""));
        return false;
    }

    text_source& source_;
    const read_options& options_;
    arc_buffer arcs_;
    std::uint64_t vertices_ = 0;
    std::uint64_t edges_ = 0;
    std::uint64_t vertex_weights_ = 0;
    std::uint64_t loops_ = 0;
    bool sized_ = false;
    bool weighted_ = false;
};

}  // namespace

// A first format digit of 1 means vertex sizes to METIS and parallel arcs to the 10th DIMACS Challenge and GAP.
graph read_metis(text_source& source, const read_options& options) {
    metis_reader reader(source, options);
    if (!reader.sized()) return reader.read();
    try {
        return reader.read();
    } catch (const usage_error&) {
        std::error_code none_there;
        if (!std::filesystem::is_regular_file(source.path(), none_there)) throw;  // a pipe is there once
        text_source again(source.path());
        metis_reader unsized(again, options);
        unsized.ignore_sizes();
        try {
            return unsized.read();
        } catch (const usage_error&) {
            // Neither reading fits: METIS's own is the one to explain.
        }
        throw;
    }
}

}  // namespace laneway::graph
