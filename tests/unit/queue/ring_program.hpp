// Programs that lanes run over a chunk ring, and the memory of one: for the suites of rings and of channels.
#pragma once

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/transport/transport.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Warps of one PE send numbered chunks, every second one in words where the ring has some, warps of another receive
/// them; alone, a PE's odd blocks receive.
struct ring_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t slot_words = 4;

    chunk_sender to;                      ///< as the source has the ring
    chunk_receiver from;                  ///< as the destination has it
    std::uint32_t* next_chunk = nullptr;  ///< source memory
    std::uint32_t* arrived = nullptr;     ///< destination memory, one a chunk: how often it was received
    std::uint32_t* wrong = nullptr;       ///< destination memory
    std::uint32_t chunks = 0;
    std::uint64_t first = 0;  ///< ticket

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const bool alone = ctx.n_pes() == 1;
        const bool sends = alone ? ctx.block() % 2 == 0 : ctx.pe() == 0;
        if (sends) return send(ctx);
        if (!alone && ctx.pe() != ctx.n_pes() - 1) return;
        const int blocks = alone ? ctx.n_blocks() / 2 : ctx.n_blocks();
        const int block = alone ? ctx.block() / 2 : ctx.block();
        receive(ctx, static_cast<std::uint64_t>(block * ctx.n_warps() + ctx.warp()),
                static_cast<std::uint64_t>(blocks * ctx.n_warps()));
    }

private:
    template <class Ctx>
    LANEWAY_FN void send(Ctx& ctx) const {
        constexpr lane_mask all = full_warp<Ctx>;
        for (;;) {
            const std::uint32_t chunk =
                once(ctx, all, [&] { return ctx.fetch_add(next_chunk, 1, order::relaxed, scope::device); });
            if (chunk >= chunks) return;
            std::uint64_t ticket = 0;
            if (to.reserve(ctx, all, 1, ticket, [] {}) != status::ok) return;
            const std::uint32_t messages = 1 + chunk % slot_words;
            const std::uint32_t kind = chunk / 2 % max_chunk_kinds;
            std::uint32_t all_messages[slot_words];
            for (std::uint32_t i = 0; i < slot_words; ++i) all_messages[i] = chunk * slot_words + i;
            if (chunk % 2 == 1 && to.has_words()) {
                to.publish_in_words(ctx, all, ticket, all_messages, messages, kind, chunk);
                continue;
            }
            auto* slot = reinterpret_cast<std::uint32_t*>(to.slot(ticket));
            for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < messages; i += Ctx::warp_lanes) {
                slot[i] = all_messages[i];
            }
            to.publish(ctx, all, ticket, messages, kind);
        }
    }

    /// Receiver `index` of `receivers` owns the tickets congruent to it.
    template <class Ctx>
    LANEWAY_FN void receive(Ctx& ctx, std::uint64_t index, std::uint64_t receivers) const {
        constexpr lane_mask all = full_warp<Ctx>;
        for (std::uint64_t ticket = first + index; ticket < first + chunks; ticket += receivers) {
            chunk_label label;
            const status waited = wait_until(ctx, {operation::user_code, 0, ticket}, [&] {
                label = from.poll(ctx, ticket);
                return label.bits != 0;
            });
            if (ctx.ballot(all, waited != status::ok) != 0) return;
            const std::uint32_t messages = label.messages();
            std::uint32_t read[slot_words] = {};
            for (std::uint32_t i = 0; i < messages && i < slot_words; ++i) {
                if (!label.in_words()) {
                    read[i] = reinterpret_cast<const std::uint32_t*>(from.slot(ticket))[i];
                } else if (!from.load_words(ctx, ticket, i, read[i])) {  // nothing orders what the slot holds
                    return;
                }
            }
            const std::uint32_t chunk = read[0] / slot_words;
            bool right = chunk < chunks && messages == 1 + chunk % slot_words &&
                         label.kind() == chunk / 2 % max_chunk_kinds &&
                         label.in_words() == (chunk % 2 == 1 && from.has_words());
            for (std::uint32_t i = 0; i < messages; ++i) right = right && read[i] == chunk * slot_words + i;
            if (!right) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
            if (right && ctx.lane() == 0) ctx.fetch_add(arrived + chunk, 1, order::relaxed, scope::device);
            from.release(ctx, all, ticket);
        }
    }
};

/// Fills a ring that nobody drains.
struct overfull_program {
    static constexpr int cuda_warps = 2;
    chunk_sender to;
    std::uint32_t* reserved;
    bool idle = false;  ///< of a PE that has no part in it

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (idle || ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        std::uint64_t ticket = 0;
        while (to.reserve(ctx, 1, 3, ticket, [] {}) == status::ok) {
            to.publish(ctx, 1, ticket, 1);
            ctx.fetch_add(reserved, 1, order::relaxed, scope::device);
        }
    }
};

/// Memory of one ring between two devices, whose next ticket is `first`, a multiple of the slots.
struct ring_memory {
    ring_memory(const std::shared_ptr<device>& source, const std::shared_ptr<device>& destination, std::uint32_t slots,
                std::uint64_t first = 0)
        : tail(source, 1), payload(find_transport(*source, *destination).allocate(source, destination, slots * 16)),
          flags(find_transport(*source, *destination).allocate(source, destination, slots * 8)),
          words(find_transport(*source, *destination).allocate(source, destination, slots * chunk_words * 8)),
          credits(find_transport(*destination, *source).allocate(destination, source, slots * 8)) {
        layout = {payload.get(),
                  reinterpret_cast<std::uint64_t*>(flags.get()),
                  reinterpret_cast<std::uint64_t*>(credits.get()),
                  tail.data(),
                  slots,
                  16,
                  reinterpret_cast<std::uint64_t*>(words.get())};
        if (first == 0) return;
        tail.copy_in(&first, 1);
        std::vector<std::uint64_t> served(slots), shown(slots), stale(std::size_t{slots} * chunk_words);
        for (std::uint32_t i = 0; i < slots; ++i) {
            const std::uint64_t last = first - slots + i;
            served[i] = last + 1;
            shown[i] = chunk_label::of(1, 0).flag(last);
            // As chunks of 2^32 tickets back left them that were to come two laps later.
            std::fill_n(stale.begin() + i * chunk_words, chunk_words, (last + 2 * slots + 1) << 32 | 0xdead);
        }
        source->copy_in(layout.credits, served.data(), slots * 8);
        destination->copy_in(layout.flags, shown.data(), slots * 8);
        destination->copy_in(layout.words, stale.data(), stale.size() * 8);
    }

    buffer<std::uint64_t> tail;
    std::shared_ptr<std::byte> payload, flags, words, credits;
    chunk_ring_layout layout;
};

}  // namespace laneway::test
