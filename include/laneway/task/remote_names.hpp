// The target buffers and completion signals of a remote queue by their numbers, and what lanes do with them.
#pragma once

#include "laneway/comm/triggers/move_range.hpp"
#include "laneway/run/host_inbox_ref.hpp"
#include "laneway/simt/message_order.hpp"
#include "laneway/task/remote_rings_ref.hpp"

namespace laneway {

/// Elements of a symmetric array.
struct remote_range {
    memory_target first;
    std::uint64_t count = 0;
};

/// Answers to host threads, one table a queue; null outside of sessions.
struct remote_answers {
    std::byte* places[max_remote_queues] = {};
    std::uint64_t bytes = 0;  ///< of a place

    /// What stands for all host threads: what they have been answered comes before what they post then.
    [[nodiscard]] LANEWAY_FN const std::byte* any() const { return places[0]; }
};

/// A completion signal's word, or the answer to a host thread.
struct remote_told {
    remote_ptr<std::uint64_t> word{};
    std::uint32_t* answer = nullptr;
    int pe = completion_signal::nobody;  ///< where the word lies
};

/// The same on every PE.
struct remote_names_ref {
    symmetric_ref<remote_range> ranges;  ///< of signals, then of buffers
    std::uint32_t n_signals = 0;
    std::uint32_t n_buffers = 0;
    std::uint32_t n_kernels = 0;
    remote_answers answers;

    /// Of signals, and of buffers.
    static constexpr std::uint32_t most = 1024;

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN const remote_range& signal(const Ctx& ctx, std::uint32_t index) const {
        return *address(ctx, ranges[index]);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN const remote_range& buffer(const Ctx& ctx, std::uint32_t index) const {
        return *address(ctx, ranges[most + index]);
    }

    /// What is known to be wrong with a command. Any lane.
    template <class Ctx>
    LANEWAY_FN status check(Ctx& ctx, int pe, const remote_request& request, std::uint32_t n_queues) const {
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, operation::enqueue, pe);
        if (request.queue >= n_queues) {
            return fail(ctx, status::bad_index, operation::enqueue, pe, request.queue, n_queues);
        }
        const completion_signal& signal = request.signal;
        if (signal.pe == completion_signal::nobody) return status::ok;
        if (signal.pe < 0 || signal.pe >= ctx.n_pes()) {
            return fail(ctx, status::bad_pe, operation::raise, signal.pe);
        }
        if (signal.index >= n_signals) {
            return fail(ctx, status::bad_index, operation::raise, signal.pe, signal.index, n_signals);
        }
        return status::ok;
    }

    /// Stores this lane's share of a payload into its target buffer of a PE. Whoever posts the command that belongs to
    /// it makes a fence at system scope before.
    template <class Ctx>
    LANEWAY_FN status store(Ctx& ctx, int pe, const remote_payload& payload, copy_share mine) const {
        const std::uint32_t index = payload.landed.buffer;
        if (index >= n_buffers) return fail(ctx, status::bad_index, operation::land, pe, index, n_buffers);
        const remote_range& target = buffer(ctx, index);
        const auto op = target.first.visit([&]<class T>() {
            const auto to = target.first.template element<T>(), from = payload.source.template element<T>();
            const std::uint64_t count = payload.landed.count;
            return trigger_operation::put(symmetric_ref<T>(from.segment, from.index + count), from.index, count,
                                          symmetric_ref<T>(to.segment, to.index + target.count),
                                          to.index + payload.landed.at, pe);
        });
        const bool same_type = target.first.type() == payload.source.type();
        const operation_places places = find_places(ctx, op);
        if (!payload.fits || !same_type || payload.landed.at > target.count || !op.fits() || !places.can_move) {
            return fail(ctx, status::bad_range, operation::land, pe, index);
        }
        move_range(ctx, op, places, 0, ~std::uint64_t{0}, mine);
        return status::ok;
    }

    /// Stores this lane's share of a host thread's payload into a target buffer of the own PE.
    template <class Ctx>
    LANEWAY_FN status land(Ctx& ctx, const remote_landed& landed, const std::byte* data, copy_share mine) const {
        const memory_target& target = buffer(ctx, landed.buffer).first;
        return target.visit([&]<class T>() {
            auto first = target.template element<T>();
            first.index += landed.at;
            if (!exists(ctx, first, landed.count)) {
                return fail(ctx, status::bad_range, operation::land, ctx.pe(), landed.buffer);
            }
            if constexpr (checks_accesses<Ctx>) {
                const auto to = local(ctx, first);
                const auto* const from = reinterpret_cast<const T*>(data);
                for (std::uint64_t i = mine.first; i < landed.count; i += mine.step) to[i] = from[i];
            } else {
                auto* const to = reinterpret_cast<std::byte*>(address(ctx, first));
                store_range(to, data, std::uint64_t{landed.count} * sizeof(T), mine);
            }
            return status::ok;
        });
    }

    /// Where a completion signal is told; null for none. One lane. Looked up before the command runs, so that its end
    /// is told without.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN remote_told find(Ctx& ctx, const completion_signal& told) const {
        if (told.pe == completion_signal::nobody) return {};
        if (told.pe == completion_signal::host) {
            auto& answer = *reinterpret_cast<inbox_answer*>(answers.places[told.value] + told.index * answers.bytes);
            remote_told at;
            at.answer = &answer.state;
            at.pe = told.pe;
            return at;
        }
        const auto word = signal(ctx, told.index).first.template element<std::uint64_t>();
        if (exists(ctx, word)) return {remote_address(ctx, word, told.pe), nullptr, told.pe};
        (void)fail(ctx, status::bad_range, operation::raise, told.pe, told.index);  // ends the run
        return {};
    }
    /// Tells that a command is done, or several that add up to `value`: everything that the lane knows of comes before.
    /// One lane; does not wait.
    template <class Ctx>
    LANEWAY_FN void raise(Ctx& ctx, const remote_told& told, std::uint64_t value) const {
        if (told.answer != nullptr) {
            go_before(ctx, answers.any());
            // Partner: the host's acquire load in host_inboxes::awaited::wait.
            ctx.store(told.answer, inbox_answer::given, order::release, scope::system);
        }
        if (!told.word) return;
        // Partners: the acquire load of who waits, wait_signal for one. Lanes of other PEs hear of it from lanes of the
        // one where the word lies, by a release of theirs, as causality is cumulative.
        if (told.pe == ctx.pe()) {
            ctx.fence(order::release, scope::device);
        } else {
            ctx.fence(order::release, scope::system);
        }
        told.word.fetch_add(ctx, value, Ctx::tagged_order);
    }
};

}  // namespace laneway
