#include "laneway/graph/from_arrays.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "build.hpp"
#include "decimal_weights.hpp"
#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "sound.hpp"

namespace laneway::graph {
namespace {

constexpr std::uint64_t greatest_weight = std::numeric_limits<std::uint32_t>::max();

/// A number of the caller's, whom nothing keeps from changing it meanwhile: what is checked must be what is taken.
template <class Number>
Number read_once(const Number& number) {
    return *const_cast<const volatile Number*>(&number);
}

struct earlier_weights {
    std::vector<std::uint32_t>& values;

    template <class F>
    void map_weights(F f) {
        for (std::uint32_t& value : values) value = f(value);
    }
};

template <class Number>
std::string text_of(Number number) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

template <class Number>
bool within_limits(Number number) {
    return number >= 0 && number <= static_cast<Number>(greatest_weight);  // false for what is no number
}

template <class Number>
[[noreturn]] void refuse(const std::string& name, Number number) {
    if (number < 0) throw usage_error(name + " is negative: " + text_of(number));
    if (number > 0) throw usage_error(name + ", " + text_of(number) + ", is over the limit of 4294967295");
    throw usage_error(name + " is not a number");
}

template <class Real>
decimal decimal_of(Real number) {
    const auto whole = static_cast<std::uint64_t>(number);
    return static_cast<Real>(whole) == number ? decimal{whole, 0} : *parse_decimal(text_of(number));
}

void check_lengths(std::size_t arcs, const whole_weights& weights) {
    if (weights.values.empty() || weights.values.size() == arcs) return;
    throw usage_error(std::to_string(weights.values.size()) + " weights for " + std::to_string(arcs) + " arcs");
}

void check_ids(const numbering& ids, std::uint64_t vertices) {
    if (ids.vertices != vertices)
        throw usage_error(std::to_string(ids.vertices) + " ids for " + std::to_string(vertices) + " vertices");
    if (!sound(ids)) throw usage_error("the ids of the vertices do not rise, or are not one a vertex");
}

/// Entry i of an array of vertices.
std::uint64_t end_of_arc(const char* name, std::span<const std::int64_t> ends, std::size_t i, std::uint64_t vertices) {
    const std::int64_t end = read_once(ends[i]);
    if (static_cast<std::uint64_t>(end) < vertices) return static_cast<std::uint64_t>(end);
    throw usage_error(std::string(name) + "[" + std::to_string(i) + "] = " + std::to_string(end) +
                      " is outside a graph of " + std::to_string(vertices) + " vertices");
}

std::vector<std::uint64_t> copy_offsets(std::span<const std::int64_t> given, std::size_t arcs) {
    const std::vector<std::uint64_t> offsets(given.begin(), given.end());
    const auto value = [&](std::size_t i) { return static_cast<std::int64_t>(offsets[i]); };
    const auto entry = [&](std::size_t i) { return "indptr[" + std::to_string(i) + "] = " + std::to_string(value(i)); };
    if (offsets.empty()) throw usage_error("indptr is empty: it has one entry more than there are vertices");
    if (offsets[0] != 0) throw usage_error(entry(0) + " is not 0");
    interruption_counter leave;
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        leave.poll();
        if (value(i) < value(i - 1)) throw usage_error(entry(i) + " is less than " + entry(i - 1));
    }
    if (offsets.back() != arcs)
        throw usage_error("the last entry of indptr, " + std::to_string(offsets.back()) +
                          ", is not the length of indices, " + std::to_string(arcs));
    return offsets;
}

// A graph without arcs has no weights.
void take_weights(graph& result, std::uint64_t scale, bool rounded) {
    if (!result.weighted()) return;
    if (!possible_scale(scale))
        throw usage_error("the scale of weights must be a power of ten, not " + std::to_string(scale));
    result.weight_scale = scale;
    result.weights_rounded = rounded;
}

template <class Vertex>
basic_csr<Vertex> make_csr(std::vector<std::uint64_t> offsets, std::span<const std::int64_t> heads,
                           std::vector<std::uint32_t> weights) {
    basic_csr<Vertex> csr;
    csr.offsets = std::move(offsets);
    csr.heads.resize(heads.size());
    interruption_counter leave;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        leave.poll();
        csr.heads[i] = static_cast<Vertex>(end_of_arc("indices", heads, i, csr.vertices()));
    }
    csr.weights = std::move(weights);
    return csr;
}

bool needs_wide(std::uint64_t vertices) { return vertices > std::numeric_limits<std::uint32_t>::max(); }

}  // namespace

template <class Number>
whole_weights make_weights(std::span<const Number> numbers, const std::function<std::string(std::uint64_t)>& name) {
    whole_weights result;
    result.values.reserve(numbers.size());
    earlier_weights earlier{result.values};
    decimal_weights scaled;
    interruption_counter leave;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        leave.poll();
        const Number number = read_once(numbers[i]);
        if constexpr (std::is_integral_v<Number>) {
            if (!within_limits(number)) refuse(name(i), number);
            result.values.push_back(static_cast<std::uint32_t>(number));
        } else {
            if (!within_limits(static_cast<double>(number))) refuse(name(i), number);
            result.values.push_back(*scaled.add(decimal_of(number), i, earlier));
        }
    }
    if (const auto lost = scaled.lost()) throw usage_error(name(lost->place) + ": " + lost->reason);
    result.scale = scaled.scale();
    result.rounded = scaled.rounded();
    return result;
}

graph from_csr(std::span<const std::int64_t> offsets, std::span<const std::int64_t> heads, whole_weights weights,
               numbering ids, id_width width) {
    std::vector<std::uint64_t> rows = copy_offsets(offsets, heads.size());
    check_lengths(heads.size(), weights);
    const std::uint64_t vertices = rows.size() - 1;
    check_ids(ids, vertices);
    graph result;
    if (needs_wide(vertices) || width == id_width::bits64) {
        result.arcs = make_csr<std::uint64_t>(std::move(rows), heads, std::move(weights.values));
    } else {
        result.arcs = make_csr<std::uint32_t>(std::move(rows), heads, std::move(weights.values));
    }
    result.ids = std::move(ids);
    take_weights(result, weights.scale, weights.rounded);
    return result;
}

graph from_arcs(std::span<const std::int64_t> tails, std::span<const std::int64_t> heads, const whole_weights& weights,
                numbering ids, bool mirrored) {
    if (tails.size() != heads.size())
        throw usage_error(std::to_string(tails.size()) + " tails for " + std::to_string(heads.size()) + " heads");
    check_lengths(heads.size(), weights);
    if (ids.vertices > vertex_limit(heads.size()))
        throw usage_error(std::to_string(ids.vertices) + " vertices for " + std::to_string(heads.size()) +
                          " arcs: over the limit of " + std::to_string(vertex_limit(heads.size())));
    check_ids(ids, ids.vertices);
    arc_buffer arcs;
    const bool weighted = !weights.values.empty();
    arcs.keep_weights(weighted);
    interruption_counter leave;
    for (std::size_t i = 0; i < tails.size(); ++i) {
        leave.poll();
        const std::uint64_t tail = end_of_arc("tails", tails, i, ids.vertices);
        arcs.push(tail, end_of_arc("heads", heads, i, ids.vertices), weighted ? weights.values[i] : 1);
    }
    const bool wide = needs_wide(ids.vertices);
    graph result = sort_into_graph(arcs, std::move(ids), mirrored, wide);
    take_weights(result, weights.scale, weights.rounded);
    return result;
}

using place_name = std::function<std::string(std::uint64_t)>;
template whole_weights make_weights(std::span<const std::int64_t>, const place_name&);
template whole_weights make_weights(std::span<const std::uint64_t>, const place_name&);
template whole_weights make_weights(std::span<const float>, const place_name&);
template whole_weights make_weights(std::span<const double>, const place_name&);

}  // namespace laneway::graph
