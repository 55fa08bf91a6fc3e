#include "laneway/simt/checked/warp.hpp"

#include "laneway/simt/checked/lane_position.hpp"

namespace laneway::checked {

namespace {

/// "barrier" of "status lw::box<Ctx, Routes>::barrier(Ctx&) [with Ctx = ...]", and of a lambda inside of it.
std::string_view name_of(std::string_view signature) {
    constexpr std::string_view call = "operator()";
    std::size_t begin = 0;
    int depth = 0;  // of template arguments
    for (std::size_t i = 0; i < signature.size(); ++i) {
        const char c = signature[i];
        if (c == '<') ++depth;
        if (c == '>') --depth;
        if (depth > 0) continue;
        if (signature.substr(i).starts_with(call)) return call;
        if (c == '(') return signature.substr(begin, i - begin);
        if (c == ' ' || c == ':' || c == '&' || c == '*') begin = i + 1;
    }
    return signature;
}

}  // namespace

std::string text_of(const std::source_location& where) {
    const std::string_view file = where.file_name();
    return std::string(name_of(where.function_name())) + " (" + std::string(file.substr(file.find_last_of('/') + 1)) +
           ":" + std::to_string(where.line()) + ")";
}

std::string meeting_site::text() const { return std::string(what) + " of " + text_of(caller); }

}  // namespace laneway::checked
