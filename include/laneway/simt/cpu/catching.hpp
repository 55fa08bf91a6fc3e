// What applications throw on CPU devices.
#pragma once

#include <atomic>
#include <exception>
#include <type_traits>
#include <utility>

#include "laneway/simt/fail.hpp"
#include "laneway/simt/thrown_log.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway::cpu {

/// Mixed into CPU contexts.
template <class Derived>
class catching {
public:
    /// Calls `call()`, code of an application, and returns what it returns. What it throws is kept for the host and
    /// ends the run; a default value is returned in its place, so that the lane stays in step with its mates. An
    /// exception that by itself ends the lane passes through.
    template <class Call>
    auto guard(const user_code& what, Call&& call) -> decltype(call()) {
        using result = decltype(call());
        std::exception_ptr thrown;
        try {
            if constexpr (std::is_void_v<result>) {
                call();
                threw_ = false;
                return;
            } else {
                result value = call();
                threw_ = false;
                return value;
            }
        } catch (const ends_lane&) {
            throw;
        } catch (...) {
            if (self().environment().thrown == nullptr) throw;
            thrown = std::current_exception();
        }
        // Behind the handler: what follows may switch to another lane, which may throw as well.
        keep(what, std::move(thrown));
        threw_ = true;
        if constexpr (!std::is_void_v<result>) return result{};
    }

    /// Whether the last call of guard() threw.
    [[nodiscard]] bool threw() const { return threw_; }

private:
    void keep(const user_code& what, std::exception_ptr thrown) {
        const pe_environment& env = self().environment();
        // Of a run that is ending the reason is known. What a functor throws as its post has failed must not hide it.
        if (std::atomic_ref(env.control->stop).load(std::memory_order_relaxed) == 0) {
            env.thrown->keep({self().pe(), self().block(), self().warp(), self().lane(), what, std::move(thrown)});
        }
        (void)fail(self(), status::handler_failed, operation::user_code, what.source);
    }

    Derived& self() { return static_cast<Derived&>(*this); }

    bool threw_ = false;
};

}  // namespace laneway::cpu
