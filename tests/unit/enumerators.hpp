// All enumerators of an enumeration, found by the compiler, so that no test's list of them can lack the newest.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace laneway {

/// Whether a value has a name: the compiler prints one without as a cast, "(laneway::status)99".
template <auto Value>
consteval bool has_name() {
    const std::string_view text = __PRETTY_FUNCTION__;
    return text.substr(text.find("Value = ")).find('(') == std::string_view::npos;
}

/// Those with the values 0 to 127, in order.
template <class Enumeration>
std::vector<Enumeration> enumerators() {
    std::vector<Enumeration> found;
    [&]<std::size_t... Numbers>(std::index_sequence<Numbers...>) {
        ((has_name<static_cast<Enumeration>(Numbers)>() ? found.push_back(static_cast<Enumeration>(Numbers)) : void()),
         ...);
    }
    (std::make_index_sequence<128>());
    return found;
}

}  // namespace laneway
