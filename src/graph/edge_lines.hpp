// Lines `u v` or `u v w`: the common body of edge lists, SNAP and LDBC files.
#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "arc_buffer.hpp"
#include "decimal_weights.hpp"
#include "field_reader.hpp"

namespace laneway::graph {

/// What readers advise where a file's weights are refused.
inline constexpr const char* arcs_alone = "; unweighted reading takes the arcs alone";

/// The next field as a number, from which nothing is kept; throws usage_error.
inline decimal skip_decimal(const text_source& source, field_reader& fields) {
    const std::string_view field = fields.word();
    if (field.empty()) source.fail("missing weight");
    const auto value = parse_decimal(field);
    if (!value) source.fail("weight " + shown(field) + " is not a number");
    return *value;
}

/// The next field as a weight at the scale of `weights`; throws usage_error.
inline std::uint32_t read_decimal(const text_source& source, field_reader& fields, decimal_weights& weights,
                                  arc_buffer& arcs) {
    field_reader same = fields;
    const decimal value = skip_decimal(source, fields);
    if (value.negative) source.fail("negative weight " + shown(same.word()) + arcs_alone);
    const auto weight = weights.add(value, source.line_number(), arcs);
    if (!weight) source.fail("weight " + shown(same.word()) + " is over the limit of 4294967295" + arcs_alone);
    return *weight;
}

/// Tells the graph the scale of its weights; throws usage_error naming the line of a weight that rounding would change
/// too much.
inline void scale_weights(const text_source& source, const decimal_weights& weights, graph& result) {
    if (const auto lost = weights.lost()) source.fail_at(lost->place, lost->reason + arcs_alone);
    result.weight_scale = weights.scale();
    result.weights_rounded = weights.rounded();
}

/// What a file of edge lines held.
struct edge_lines {
    arc_buffer arcs;
    decimal_weights weights;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t greatest = 0;
    std::uint64_t greatest_line = 0;  ///< the first that names it
};

/// Reads the rest of `source`, skipping lines that start with # or %. `ends(tail, head, arcs)` may replace the ids of a
/// line before it joins the arcs read so far. The first line says whether there are weights; `unweighted` drops them.
template <class F>
edge_lines read_edge_lines(text_source& source, bool unweighted, F ends) {
    edge_lines result;
    bool third_field = false;
    std::string_view line;
    while (source.next_line(line)) {
        field_reader fields(source, line);
        if (fields.done() || line.front() == '#' || line.front() == '%') continue;
        std::uint64_t tail = fields.number("vertex");
        std::uint64_t head = fields.number("vertex");
        if (result.arcs.size() == 0) {
            third_field = !fields.done();
            result.arcs.keep_weights(third_field && !unweighted);
        }
        std::uint32_t weight = 1;
        if (result.arcs.weighted()) {
            weight = read_decimal(source, fields, result.weights, result.arcs);
        } else if (third_field) {
            skip_decimal(source, fields);
        }
        fields.finish();
        ends(tail, head, result.arcs);
        result.least = std::min({result.least, tail, head});
        if (const std::uint64_t greater = std::max(tail, head); greater > result.greatest) {
            result.greatest = greater;
            result.greatest_line = source.line_number();
        }
        result.arcs.push(tail, head, weight);
    }
    return result;
}

}  // namespace laneway::graph
