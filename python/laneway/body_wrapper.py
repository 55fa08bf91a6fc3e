"""The C++ text around the source of a task's body: what finds its types, and what devices call."""

from __future__ import annotations

HEADERS = "algorithm array cmath cstddef cstdint cstdio cstring exception stdexcept string type_traits utility vector"

GPU_HEADERS = "algorithm array cmath cstddef cstdint cstdio cstring type_traits utility"
"""Those of them that there are on GPUs."""

DESCRIBE = "laneway_describe"
"""Function of the library that tells its types; see `BodyTypes`."""

CALL = "laneway_call"
"""Function of the library that a device calls: `body_function` of apps/tasks/call_body.hpp."""

_ENTRY = """
#line 1 "laneway"
namespace laneway_body {
namespace {

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && sizeof(T) <= 8;
template <class T>
constexpr bool can_pass = is_number<T> || (std::is_class_v<T> && std::is_trivially_copyable_v<T> && alignof(T) <= 64);
template <>
constexpr bool can_pass<void> = true;
template <class T>
constexpr bool is_input = can_pass<std::decay_t<T>> &&
    (!std::is_reference_v<T> || std::is_const_v<std::remove_reference_t<T>>);

template <class T>
constexpr char kind = std::is_same_v<T, bool> ? 'b'
    : std::is_floating_point_v<T>             ? 'f'
    : !std::is_arithmetic_v<T>                ? 'V'
    : std::is_signed_v<T>                     ? 'i'
                                              : 'u';
template <class T>
constexpr std::size_t bytes_of = sizeof(T);
template <>
constexpr std::size_t bytes_of<void> = 0;

template <class... T>
struct layout {
    static constexpr std::size_t count = sizeof...(T);
    static constexpr std::size_t sizes[] = {sizeof(T)..., 0};
    static constexpr std::size_t alignments[] = {alignof(T)..., 1};
    static constexpr char kinds[] = {kind<T>..., 0};
    static constexpr std::size_t rounded(std::size_t at, std::size_t to) { return (at + to - 1) / to * to; }
    static constexpr std::size_t offset(std::size_t which) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < which; ++i) at = rounded(at, alignments[i]) + sizes[i];
        return rounded(at, alignments[which]);
    }
    static constexpr std::size_t bytes() {
        std::size_t largest = 1;
        for (const std::size_t one : alignments) largest = one > largest ? one : largest;
        return rounded(offset(count), largest);
    }
};

template <class Function>
struct entry;
template <class Result, class... Inputs>
struct entry<Result (*)(Inputs...)> {
    static_assert((is_input<Inputs> && ...),
                  "a body takes numbers of up to 8 bytes, bools and trivially copyable structs, by value or const "
                  "reference");
    static_assert(can_pass<Result>,
                  "a body returns a number of up to 8 bytes, a bool, a trivially copyable struct, or nothing");
    using inputs = layout<std::decay_t<Inputs>...>;

    template <std::size_t... I>
    static void call(Result (*body)(Inputs...), const char* from, void* to, std::index_sequence<I...>) {
        const auto run = [&]() -> Result {
            return body(*reinterpret_cast<const std::decay_t<Inputs>*>(from + inputs::offset(I))...);
        };
        if constexpr (std::is_void_v<Result>) {
            run();
        } else {
            const Result result = run();
            std::memcpy(to, &result, sizeof result);
        }
    }
    static void call(Result (*body)(Inputs...), const void* from, void* to) {
        call(body, static_cast<const char*>(from), to, std::index_sequence_for<Inputs...>());
    }
    static constexpr char result_kind = kind<Result>;
    static constexpr std::size_t result_bytes = bytes_of<Result>;
};
template <class Result, class... Inputs>
struct entry<Result (*)(Inputs...) noexcept> : entry<Result (*)(Inputs...)> {};

using body = entry<decltype(&::ENTRY)>;

}  // namespace
}  // namespace laneway_body
"""

_ON_HOST = """
namespace laneway_body {
namespace {

std::string described() {
    using inputs = body::inputs;
    std::string text = std::to_string(inputs::bytes()) + " " + body::result_kind + std::to_string(body::result_bytes);
    for (std::size_t i = 0; i < inputs::count; ++i) {
        text += std::string(" ") + inputs::kinds[i] + std::to_string(inputs::sizes[i]) + " " +
            std::to_string(inputs::offset(i));
    }
    return text;
}

}  // namespace
}  // namespace laneway_body

#define LANEWAY_SEEN __attribute__((visibility("default")))
extern "C" LANEWAY_SEEN const char* laneway_describe() {
    static const std::string text = laneway_body::described();
    return text.c_str();
}
extern "C" LANEWAY_SEEN int laneway_call(const void* inputs, void* result, char* text, std::size_t text_bytes) {
    try {
        laneway_body::body::call(&::ENTRY, inputs, result);
        return 0;
    } catch (const std::exception& thrown) {
        std::snprintf(text, text_bytes, "%s", thrown.what());
    } catch (...) {
        std::snprintf(text, text_bytes, "%s", "the body threw what is no std::exception");
    }
    return 1;
}
"""


_ON_GPU = """
static_assert(laneway_body::body::inputs::bytes() == INPUT_BYTES && laneway_body::body::result_bytes == RESULT_BYTES,
              "structs of this body are laid out in another way on GPUs");
extern "C" __device__ void SYMBOL(const void* inputs, void* result) {
    laneway_body::body::call(&::ENTRY, inputs, result);
}
"""

_ALL_ON_GPU = """
extern "C" __device__ void laneway_call_linked(unsigned body, const void* inputs, void* result) {
    switch (body) {
CASES    }
}
"""


def wrapped(source: str, entry: str, label: str) -> str:
    """The text to compile. Messages of the compiler call the user's text `label`, and count its lines from 1."""
    return _included(HEADERS.split()) + _labelled(source, entry, label) + _ON_HOST.replace("ENTRY", entry)


def wrapped_for_gpu(source: str, entry: str, label: str, symbol: str, sizes: tuple[int, int]) -> str:
    """The same for GPUs, as a function called `symbol`. `sizes`: bytes of all arguments, and of the result, as the host
    has them."""
    behind = _ON_GPU.replace("SYMBOL", symbol).replace("INPUT_BYTES", str(sizes[0]))
    behind = behind.replace("RESULT_BYTES", str(sizes[1])).replace("ENTRY", entry)
    return _included(GPU_HEADERS.split()) + _labelled(source, entry, label) + behind


def dispatcher(symbols: list[str]) -> str:
    """What the pool's program calls on GPUs: of all bodies the one with the number that it is given."""
    declared = "".join(f'extern "C" __device__ void {symbol}(const void*, void*);\n' for symbol in symbols)
    cases = "".join(f"        case {n}: return {symbol}(inputs, result);\n" for n, symbol in enumerate(symbols))
    return declared + _ALL_ON_GPU.replace("CASES", cases)


def _included(headers: list[str]) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


def _labelled(source: str, entry: str, label: str) -> str:
    return f'#line 1 "{label}"\n{source}\n{_ENTRY.replace("ENTRY", entry)}'
