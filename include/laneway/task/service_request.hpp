// What a service is asked for. A request type is a functor that a server calls, a lane a request:
//
//   struct square {
//       using arguments = double;
//       using result = double;                               // or void
//       static constexpr const char* name = "square";        // for messages; may be left out
//       static constexpr bool ordered = false;               // may be left out; see below
//       static constexpr bool by_warp = true;                // the same
//       static constexpr bool forwards = true;               // the same
//       template <class Ctx>
//       LANEWAY_FN result operator()(Ctx& ctx, const arguments& x, service_call& call) const { return x * x; }
//   };
//
// It must not wait for what lanes of the program do: so servers always come to the next request. One that `forwards`
// has a fourth parameter, by which it posts messages of the run's mailboxes as handlers do: forward.post(ctx, pe, m).
// `ctx` is that of a lane of the server; where host threads serve it is one of a CPU device, and on_host<Ctx> holds.
// A request is ordered unless its type says otherwise: the functor sees what its poster has stored, and who waits for
// the answer sees what the functor has stored. That takes two fences on GPUs, which requests that store nothing spare.
// One that is `by_warp` is called by all lanes of a server's warp together, one request after the other, and shares its
// work out among them; what lane 0 returns is the answer.
//
// After ComP-Net (LeBeane and others, ComP-Net: Command Processor Networking for Efficient Intra-kernel Communications
// on GPUs, PACT 2018).
#pragma once

#include "laneway/comm/answers.hpp"
#include "laneway/comm/handler_check.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// Who carries out the requests of a PE's lanes.
enum class service_by : std::uint32_t {
    warps,  ///< warps of the same PE that do nothing else
    host,   ///< threads of the host
    pe,     ///< such warps of one PE, for all PEs
};

/// Whether a request type is called by a host thread (service_threads.hpp).
template <class Ctx>
inline constexpr bool on_host = requires {
    Ctx::serves_on_host;
};

/// The request that a functor carries out, as it sees it.
class service_call {
public:
    LANEWAY_FN service_call(int pe, int block, bool reaches_memory)
        : pe_(pe), block_(block), reaches_memory_(reaches_memory) {}

    static constexpr int host_thread = -1;  ///< in place of a block

    /// Who has posted it; of a host thread in a session, in whose name it has, and no block.
    [[nodiscard]] LANEWAY_FN int pe() const { return pe_; }
    [[nodiscard]] LANEWAY_FN int block() const { return block_; }
    [[nodiscard]] LANEWAY_FN bool by_host() const { return block_ == host_thread; }
    /// False where a host thread serves a GPU, whose memory it cannot touch: what every service is asked for
    /// (service_operations.hpp) it does by copies.
    [[nodiscard]] LANEWAY_FN bool reaches_memory() const { return reaches_memory_; }

    /// Whether the run is ending, so that a request that takes long should return. Any lane of a server; no wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool ends(Ctx& ctx) const {
        if constexpr (on_host<Ctx>) {
            return ctx.run_ends();
        } else {
            return stopped(ctx);
        }
    }

    /// The call gets this status in place of a result, and the run goes on. Of a post it is counted.
    LANEWAY_FN void refuse(status why) { refused_ = why; }
    /// Ends the run with an error that names the request type, the block and its PE.
    LANEWAY_FN void fail() { failed_ = true; }

    [[nodiscard]] LANEWAY_FN status refused() const { return refused_; }
    [[nodiscard]] LANEWAY_FN bool failed() const { return failed_; }

private:
    int pe_;
    int block_;
    bool reaches_memory_;
    status refused_ = status::ok;
    bool failed_ = false;
};

template <class Type>
inline constexpr bool is_ordered = true;
template <class Type>
requires requires { Type::ordered; }
inline constexpr bool is_ordered<Type> = Type::ordered;

template <class Type>
inline constexpr bool is_by_warp = false;
template <class Type>
requires requires { Type::by_warp; }
inline constexpr bool is_by_warp<Type> = Type::by_warp;

template <class T>
concept service_type = trivially_copyable<T> && trivially_copyable<typename T::arguments> &&
                           std::is_default_constructible_v<typename T::arguments> &&
                           alignof(typename T::arguments) <= 16 &&
                       (is_ordered<T> || !is_by_warp<T>)&&(std::is_void_v<typename T::result> ||
                                                           (trivially_copyable<typename T::result> &&
                                                            std::is_default_constructible_v<typename T::result>));

/// The name of a request type in messages.
template <class Type>
constexpr const char* name_of_request() {
    if constexpr (requires { Type::name; }) return Type::name;
    return "without a name";
}

/// What a call of a request type gives, where its functor returns nothing.
struct nothing_answered {};
template <class Type>
using service_result =
    std::conditional_t<std::is_void_v<typename Type::result>, nothing_answered, typename Type::result>;

/// An answer on its way back.
template <class Type>
struct service_answer {
    service_result<Type> value{};
    std::uint32_t code = 0;  ///< a status
};

/// Sizes of a request type.
struct service_shape {
    std::size_t argument_bytes;
    std::uint32_t answer_words;
    const char* name;

    template <class Type>
    static constexpr service_shape of() {
        return {sizeof(typename Type::arguments), tagged_words<service_answer<Type>>, name_of_request<Type>()};
    }
};

}  // namespace laneway
