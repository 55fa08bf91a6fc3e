#include <algorithm>
#include <limits>

#include "build.hpp"
#include "edge_lines.hpp"
#include "formats.hpp"

namespace laneway::graph {
namespace {

class dimacs_reader {
public:
    dimacs_reader(text_source& source, const read_options& options) : source_(source), options_(options) {}

    graph read() {
        std::string_view line;
        while (source_.next_line(line)) take(line);
        if (announced_ && arcs_.size() < arc_count_)
            source_.fail("the file ends after " + std::to_string(arcs_.size()) + " of " + std::to_string(arc_count_) +
                         " announced arcs");
        return build_graph(arcs_, ids(), !options_.directed.value_or(!plain_), options_.ids);
    }

private:
    void take(std::string_view line) {
        field_reader fields(source_, line);
        if (fields.done()) return;
        const std::string_view first = line.substr(line.find_first_not_of(" \t"));
        const bool one_letter = first.size() == 1 || first[1] == ' ' || first[1] == '\t';
        if (first[0] == 'a' && one_letter) {
            fields.word();
            take_arc(fields, false);
        } else if (first[0] >= '0' && first[0] <= '9') {
            take_arc(fields, true);
        } else if (first[0] == 'p' && one_letter) {
            fields.word();
            take_problem(fields);
        } else if (first[0] != 'c') {
            source_.fail(shown(fields.word()) + " starts no line of a DIMACS file");
        }
    }

    void take_problem(field_reader& fields) {
        if (announced_) source_.fail("a second p line");
        if (arcs_.size() > 0) source_.fail("the p line comes after arcs");
        const std::string_view problem = fields.word();
        if (problem.empty()) source_.fail("missing problem name");
        if (problem == "aux") source_.fail("the file holds coordinates or other additions, not arcs");
        weights_only_ = problem == "sp";
        vertices_ = fields.number("number of vertices");
        arc_count_ = fields.number("number of arcs");
        fields.finish();
        check_vertices(source_, {vertices_, source_.line_number()}, arc_count_, options_.ids);
        announced_ = true;
    }

    // `u v` where plain, else `u v w` after the letter a.
    void take_arc(field_reader& fields, bool plain) {
        if (arcs_.size() == 0) start(plain);
        if (plain != plain_) source_.fail("arcs with a weight and edges without one in one file");
        const std::uint64_t tail = vertex(fields);
        const std::uint64_t head = vertex(fields);
        std::uint32_t weight = 1;
        if (arcs_.weighted()) {
            weight = fields.weight();
        } else if (!plain) {
            skip_decimal(source_, fields);
        }
        fields.finish();
        if (announced_ && arcs_.size() == arc_count_)
            source_.fail("more arcs than the " + std::to_string(arc_count_) + " announced");
        arcs_.push(tail, head, weight);
    }

    void start(bool plain) {
        if (plain && (weights_only_ || !announced_)) source_.fail("an arc without the letter a");
        plain_ = plain;
        arcs_.keep_weights(!plain && !options_.unweighted);
    }

    // Ids as written where there is no p line: whether they start at 0 is known only at the end.
    std::uint64_t vertex(field_reader& fields) {
        const std::uint64_t id = fields.number("vertex");
        if (!announced_) {
            least_ = std::min(least_, id);
            if (id > greatest_) {
                greatest_ = id;
                greatest_line_ = source_.line_number();
            }
            return id;
        }
        if (id - 1 >= vertices_)
            source_.fail("vertex " + std::to_string(id) + " is outside 1.." + std::to_string(vertices_));
        return id - 1;
    }

    numbering ids() {
        if (announced_) return contiguous(1, vertices_);
        if (arcs_.size() == 0) source_.fail("neither a p line nor an arc");
        const std::uint64_t first = least_ == 0 ? 0 : 1;
        check_vertices(source_, {greatest_ - first + 1, greatest_line_}, arcs_.size(), options_.ids);
        if (first != 0) arcs_.map_ids([](std::uint64_t id) { return id - 1; });
        return contiguous(first, greatest_ - first + 1);
    }

    text_source& source_;
    const read_options& options_;
    arc_buffer arcs_;
    std::uint64_t vertices_ = 0;
    std::uint64_t arc_count_ = 0;
    std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t greatest_ = 0;
    std::uint64_t greatest_line_ = 0;
    bool announced_ = false;
    bool weights_only_ = false;
    bool plain_ = false;
};

}  // namespace

graph read_dimacs(text_source& source, const read_options& options) { return dimacs_reader(source, options).read(); }

}  // namespace laneway::graph
