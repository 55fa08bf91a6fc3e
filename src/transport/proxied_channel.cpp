#include "laneway/transport/proxied_channel.hpp"

#include <algorithm>
#include <cstring>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

std::size_t bytes_of(std::uint32_t n_slots, std::uint32_t slot_bytes) {
    return std::size_t{n_slots} * (slot_bytes + 2 * sizeof(std::uint64_t));
}

/// Slots, then flags, then credits.
chunk_ring_layout half(std::byte* memory, std::uint32_t n_slots, std::uint32_t slot_bytes) {
    chunk_ring_layout made;
    made.slots = memory;
    made.flags = reinterpret_cast<std::uint64_t*>(memory + std::size_t{n_slots} * slot_bytes);
    made.credits = made.flags + n_slots;
    made.n_slots = n_slots;
    made.slot_bytes = slot_bytes;
    return made;
}

}  // namespace

proxied_channel::proxied_channel(const std::shared_ptr<device>& source, const std::shared_ptr<device>& destination,
                                 std::uint32_t n_slots, std::uint32_t slot_bytes)
    : staging_memory_(allocate_host_visible(source, bytes_of(n_slots, slot_bytes))),
      landing_memory_(allocate_host_visible(destination, bytes_of(n_slots, slot_bytes))), tail_(source, 1),
      staging_(half(staging_memory_.get(), n_slots, slot_bytes)),
      landing_(half(landing_memory_.get(), n_slots, slot_bytes)), credits_(n_slots) {
    staging_.tail = tail_.data();
}

void proxied_channel::open() {
    for (const auto* side : {&staging_, &landing_}) std::fill_n(side->flags, 2 * side->n_slots, 0);
    tail_.fill_bytes(0);
    std::fill(credits_.begin(), credits_.end(), 0);
    carried_ = 0;
}

bool proxied_channel::turn(host_context& ctx, int) {
    const bool slots = carry_slots(ctx);
    return carry_credits(ctx) || slots;
}

/// In the order of tickets: one that is reserved is published soon, as nobody waits between.
bool proxied_channel::carry_slots(host_context& ctx) {
    bool any = false;
    for (;; ++carried_, any = true) {
        const std::uint32_t slot = staging_.slot_of(carried_);
        // Partner: chunk_sender::publish.
        const std::uint64_t flag = ctx.load(staging_.flags + slot, order::acquire, scope::system);
        if (!chunk_label::is_of(flag, carried_)) return any;
        // The source had a credit for the ticket, so the destination has drained the slot.
        std::memcpy(landing_.slot(carried_), staging_.slot(carried_), staging_.slot_bytes);
        // Partner: chunk_receiver::poll.
        ctx.store(landing_.flags + slot, flag, order::release, scope::system);
    }
}

bool proxied_channel::carry_credits(host_context& ctx) {
    bool any = false;
    for (std::uint32_t slot = 0; slot < landing_.n_slots; ++slot) {
        // Partner: chunk_receiver::release.
        const std::uint64_t credit = ctx.load(landing_.credits + slot, order::acquire, scope::system);
        if (credit == credits_[slot]) continue;
        credits_[slot] = credit;
        // Partner: chunk_sender::reserve.
        ctx.store(staging_.credits + slot, credit, order::release, scope::system);
        any = true;
    }
    return any;
}

std::string proxied_channel::account() const {
    return "; proxied channel: " + std::to_string(carried_) + " chunks carried";
}

void proxied_channel::audit() const {
    const std::uint64_t reserved = tail_.copy_out().front();
    if (reserved == carried_) return;
    throw device_fault("audit mismatch: " + std::to_string(reserved) + " chunks sent through a proxied channel, " +
                       std::to_string(carried_) + " carried");
}

}  // namespace laneway
