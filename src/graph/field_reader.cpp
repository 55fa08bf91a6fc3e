#include "field_reader.hpp"

#include <algorithm>

namespace laneway::graph {

void field_reader::reject(const char* start, const char* what) {
    at_ = start;
    const std::string_view field = word();
    const std::string name(what);
    if (field.empty()) source_.fail("missing " + name);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (std::all_of(field.begin(), field.end(), digit)) source_.fail(name + " " + shown(field) + " is too large");
    if (field.size() > 1 && field[0] == '-' && digit(field[1])) source_.fail("negative " + name + " " + shown(field));
    source_.fail(name + " " + shown(field) + " is not a whole number");
}

void field_reader::reject_large(const char* what, const std::string& value) const {
    source_.fail(std::string(what) + " " + value + " is over the limit of 4294967295");
}

}  // namespace laneway::graph
