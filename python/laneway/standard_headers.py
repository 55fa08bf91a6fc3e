"""Headers of C and C++ by name, as NVRTC gets them, which has none: those of CUDA's own library, libcu++, as `std`."""

from __future__ import annotations

import math

_NAMES = """
    algorithm array bit cassert chrono climits concepts cstddef cstdint cstdlib cstring functional
    initializer_list iterator limits numbers numeric optional ratio span tuple type_traits utility variant
"""
_IN_C = "assert float limits math stddef stdint stdio stdlib string"

_AS_STD = """#pragma once
#if __has_include(<cuda/std/NAME>)
#include <cuda/std/NAME>
#elif __has_include(<cuda/std/__NAME_>)  // so older versions call a part of it
#include <cuda/std/__NAME_>
#else
#error "this version of CUDA has no header NAME for GPUs"
#endif
namespace cuda::std {}
namespace std { using namespace cuda::std; }
"""
_CONSTANTS = {
    "M_E": math.e,
    "M_LOG2E": 1 / math.log(2),
    "M_LOG10E": 1 / math.log(10),
    "M_LN2": math.log(2),
    "M_LN10": math.log(10),
    "M_PI": math.pi,
    "M_PI_2": math.pi / 2,
    "M_PI_4": math.pi / 4,
    "M_1_PI": 1 / math.pi,
    "M_2_PI": 2 / math.pi,
    "M_2_SQRTPI": 2 / math.sqrt(math.pi),
    "M_SQRT2": math.sqrt(2),
    "M_SQRT1_2": math.sqrt(0.5),
}
"""Of POSIX's math.h, which C++ compilers have as well."""
_OF_ONE = """
    acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p log2
    nearbyint rint round sin sinh sqrt tan tanh tgamma trunc
"""
_OF_TWO = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder"
_OTHERS = """
    abs fma frexp ilogb isfinite isinf isnan ldexp llrint llround logb lrint lround modf nan remquo scalbln scalbn
    signbit
"""
_INTEGER = """template <class T, class = cuda::std::enable_if_t<cuda::std::is_integral_v<T>>>
double NAME(T x) { return ::NAME(static_cast<double>(x)); }
"""
_MIXED = """template <class A, class B, class = cuda::std::enable_if_t<cuda::std::is_arithmetic_v<A> &&
    cuda::std::is_arithmetic_v<B> && !(cuda::std::is_same_v<A, B> && cuda::std::is_floating_point_v<A>)>>
double NAME(A x, B y) { return ::NAME(static_cast<double>(x), static_cast<double>(y)); }
"""


_OF_COMPLEX = """template <class Z, class = cuda::std::enable_if_t<laneway_is_complex<Z>>>
auto NAME(const Z& z) { return cuda::std::NAME(z); }
"""
_POW_OF_COMPLEX = """template <class A, class B,
          class = cuda::std::enable_if_t<laneway_is_complex<A> || laneway_is_complex<B>>>
auto pow(const A& a, const B& b) { return cuda::std::pow(a, b); }
"""
_IS_COMPLEX = """#include <cmath>
namespace std {
template <class Z>
inline constexpr bool laneway_is_complex = false;
template <class T>
inline constexpr bool laneway_is_complex<cuda::std::complex<T>> = true;
"""


def _complex() -> str:
    """The names that `std` has from `_cmath` hide those of libcu++. With any type as parameter these are worse matches
    than libcu++'s own, so that calls are not ambiguous."""
    names = "abs acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh"
    text = _AS_STD.replace("NAME", "complex") + _IS_COMPLEX + _POW_OF_COMPLEX
    return text + "".join(_OF_COMPLEX.replace("NAME", name) for name in names.split()) + "}\n"


def _cmath() -> str:
    """NVRTC has the functions for float and double without a header. Those of libcu++ are others: `using namespace std`
    would make their calls ambiguous."""
    text = "#pragma once\n#include <cuda/std/type_traits>\n"
    text += "".join(f"#define {name} {value!r}\n" for name, value in _CONSTANTS.items())
    for form, names in ((_INTEGER, _OF_ONE), (_MIXED, _OF_TWO)):
        text += "".join(form.replace("NAME", name) for name in names.split())
    named = f"{_OF_ONE} {_OF_TWO} {_OTHERS}".split()
    return text + "namespace std {\n" + "".join(f"using ::{name};\n" for name in named) + "}\n"


_LIMITS = {
    "FLT_EPSILON": "1.1920929e-7f",
    "FLT_MAX": "3.40282347e38f",
    "FLT_MIN": "1.17549435e-38f",
    "DBL_EPSILON": "2.2204460492503131e-16",
    "DBL_MAX": "1.7976931348623157e308",
    "DBL_MIN": "2.2250738585072014e-308",
}
_CFLOAT = "#pragma once\n" + "".join(f"#define {name} {value}\n" for name, value in _LIMITS.items())
_CSTDIO = "#pragma once\nnamespace std { using ::printf; }\n"

HEADERS = (
    {name: _AS_STD.replace("NAME", name) for name in _NAMES.split()}
    | {"cfloat": _CFLOAT, "cmath": _cmath(), "complex": _complex(), "cstdio": _CSTDIO}
    | {f"{name}.h": f"#include <c{name}>\n" for name in _IN_C.split()}
)
