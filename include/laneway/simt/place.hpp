// Where in a program an access is asked for: known on checked devices, nothing anywhere else.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// Of a context that tells no places.
struct no_place {
    static constexpr LANEWAY_FN no_place current() { return {}; }
};

/// Whether lanes of a context have their accesses to symmetric memory checked.
template <class Ctx>
concept checks_accesses = requires {
    typename Ctx::place;
};

template <class Ctx>
struct place_type {
    using type = no_place;
};
template <checks_accesses Ctx>
struct place_type<Ctx> {
    using type = typename Ctx::place;
};

/// Last parameter of a function that accesses memory for its caller: `place_of<Ctx> where = place_of<Ctx>::current()`.
template <class Ctx>
using place_of = typename place_type<Ctx>::type;

}  // namespace laneway
