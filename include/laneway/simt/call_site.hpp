// Where in a program an access is asked for: known on checked devices, nothing anywhere else.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// Of a context that does not record call sites.
struct no_call_site {
    static constexpr LANEWAY_FN no_call_site current() { return {}; }
};

/// Whether lanes of a context have their accesses to symmetric memory checked.
template <class Ctx>
concept checks_accesses = requires {
    typename Ctx::call_site;
};

template <class Ctx>
struct call_site_type {
    using type = no_call_site;
};
template <checks_accesses Ctx>
struct call_site_type<Ctx> {
    using type = typename Ctx::call_site;
};

/// Last parameter of a function that accesses memory for its caller: `call_site_of<Ctx> where =
/// call_site_of<Ctx>::current()`.
template <class Ctx>
using call_site_of = typename call_site_type<Ctx>::type;

}  // namespace laneway
