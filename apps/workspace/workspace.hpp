// Devices that stay open for many runs of programs, with what these keep there of their inputs.
#pragma once

#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/options.hpp"
#include "laneway/simt/timeline_part.hpp"

namespace laneway {
class runtime;
namespace flow {
class context;
}
}  // namespace laneway

namespace laneway::apps {

/// Tells the pieces apart that programs keep of one input.
struct piece_key {
    std::type_index type;              ///< of the piece
    int variant = 0;                   ///< of the program: with or without weights, say
    std::vector<std::uint32_t> parts;  ///< PE of each vertex where the caller divides them; else empty

    bool operator==(const piece_key&) const = default;
};

/// Host only; one call at a time; not movable, as inputs refer to it.
class workspace {
public:
    static constexpr std::uint64_t default_kept_bytes = std::uint64_t{4} << 30;

    /// For runs as `job` says, on devices that are opened when they are first needed. Between calls all that the
    /// workspace has on a device, comm resources included, takes `kept_bytes` at most: else pieces go, the least
    /// recently used first.
    explicit workspace(options job, std::uint64_t kept_bytes = default_kept_bytes);
    ~workspace();
    workspace(const workspace&) = delete;
    workspace& operator=(const workspace&) = delete;

    [[nodiscard]] const options& job() const { return job_; }
    /// The open devices. Throws usage_error for a list of devices that names none or wrong ones. Symmetric arrays have
    /// numbers of which a runtime gives so many: where they run short, all pieces go and the devices are opened anew.
    [[nodiscard]] const std::shared_ptr<runtime>& devices();
    /// How many PEs these are. Opens them.
    [[nodiscard]] int n_pes();
    /// Whether a run on the devices did not end, so that they take no other.
    [[nodiscard]] bool lost() const;

    /// Calls `use(piece)` with what `owner` has under the key; where it has nothing yet, or no more, with what
    /// `make(runtime)` returns, a shared pointer. What is kept never costs a call its memory: where the system or CUDA
    /// fails, all other pieces go, and the call is made once more.
    template <class Piece, class Make, class Use>
    auto with(const void* owner, const piece_key& key, Make&& make, Use&& use) {
        const auto call = [&] {
            const std::shared_ptr<runtime> open = devices();
            auto piece = std::static_pointer_cast<Piece>(find(owner, key));
            if (!piece) {
                const timeline_part part(job_.timeline, "bringing input to the devices");
                piece = make(*open);
                add(owner, key, piece);
            }
            return use(*piece);
        };
        return sparing(call, [&](const kept_piece& p) { return p.owner != owner || p.key != key; });
    }
    /// Calls `use(devices())` in the same way; nothing is kept of it.
    template <class Use>
    auto run(Use&& use) {
        return sparing([&] { return use(devices()); }, [](const kept_piece&) { return true; });
    }
    /// Calls `use(context)` in the same way with a dataflow of the workspace's devices, which stays open for the next
    /// call, unless this one fails: then the next has a new one.
    template <class Use>
    auto stream(Use&& use) {
        const auto call = [&] {
            const std::shared_ptr<flow::context> open = take_dataflow();
            auto result = use(*open);
            keep(open);
            return result;
        };
        return sparing(call, [](const kept_piece&) { return true; });
    }
    /// Drops all pieces of an input.
    void forget(const void* owner);
    [[nodiscard]] bool keeps(const void* owner) const;

    /// One number a PE: what is allocated there now, and what has been copied there from the host so far. Empty before
    /// the devices are open.
    [[nodiscard]] std::vector<std::uint64_t> held_bytes() const;
    [[nodiscard]] std::vector<std::uint64_t> copied_bytes() const;

private:
    struct kept_piece {
        const void* owner;
        piece_key key;
        std::shared_ptr<void> memory;
    };
    struct trimming {
        workspace& of;
        ~trimming() { of.trim(); }
    };

    template <class Call, class Spare>
    auto sparing(Call&& call, Spare&& spare) {
        const trimming trimmed{*this};
        std::exception_ptr first;  // which says more than what follows from it
        try {
            return call();
        } catch (const system_error&) {
            first = std::current_exception();
        } catch (const cuda_error&) {
            first = std::current_exception();
        }
        if (std::erase_if(pieces_, spare) == 0) std::rethrow_exception(first);
        try {
            return call();
        } catch (const system_error&) {
            std::rethrow_exception(first);
        } catch (const cuda_error&) {
            std::rethrow_exception(first);
        }
    }
    /// What an earlier call has left, else a new one.
    [[nodiscard]] std::shared_ptr<flow::context> take_dataflow();
    /// For the next call, unless the devices are checked, whose seed starts anew with each.
    void keep(const std::shared_ptr<flow::context>& open);
    [[nodiscard]] std::shared_ptr<void> find(const void* owner, const piece_key& key);
    void add(const void* owner, const piece_key& key, std::shared_ptr<void> memory);
    void trim();

    options job_;
    std::uint64_t kept_bytes_;
    std::shared_ptr<runtime> runtime_;
    std::shared_ptr<flow::context> dataflow_;
    std::vector<std::uint64_t> copied_before_;  ///< by devices that were opened before these
    std::list<kept_piece> pieces_;              ///< the last used first
};

}  // namespace laneway::apps
