#include "laneway/comm/two_sided/message_rings.hpp"

#include <utility>

namespace laneway {

message_rings::message_rings(machine& machine, std::uint32_t slots, std::uint32_t slot_bytes,
                             std::shared_ptr<proxy> carrier)
    : machine_(machine), memory_(machine, std::move(carrier)) {
    const auto n = static_cast<std::size_t>(machine.n_pes());
    for (int pe = 0; pe < machine.n_pes(); ++pe) tails_.emplace_back(machine.device(pe), n * tail_stride);
    rings_ = memory_.add_rings(std::vector<std::uint32_t>(n, slots), slot_bytes);
    for (int pe = 0; pe < machine.n_pes(); ++pe) connect_to_itself(pe, slots, slot_bytes);
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        std::vector<chunk_sender> to(n);
        std::vector<chunk_receiver> from(n);
        for (std::size_t other = 0; other < n; ++other) {
            chunk_ring_layout& out = rings_[number(pe, static_cast<int>(other))].to;
            out.tail = tails_[static_cast<std::size_t>(pe)].data() + other * tail_stride;
            to[other] = chunk_sender(out);
            from[other] = chunk_receiver(rings_[number(static_cast<int>(other), pe)].from);
        }
        to_.emplace_back(machine.device(pe), n).copy_in(to);
        from_.emplace_back(machine.device(pe), n).copy_in(from);
    }
}

void message_rings::connect_to_itself(int pe, std::uint32_t slots, std::uint32_t slot_bytes) {
    const std::size_t flag_bytes = slots * sizeof(std::uint64_t), payload = std::size_t{slots} * slot_bytes;
    own_.emplace_back(machine_.device(pe), payload + (chunk_words + 2) * flag_bytes);
    std::byte* const own = own_.back().data();
    chunk_ring_layout ring;
    ring.slots = own;
    ring.words = reinterpret_cast<std::uint64_t*>(own + payload);
    ring.flags = ring.words + std::size_t{slots} * chunk_words;
    ring.credits = ring.flags + slots;
    ring.n_slots = slots;
    ring.slot_bytes = slot_bytes;
    rings_[number(pe, pe)] = {ring, ring};
}

void message_rings::reset() {
    for (auto& tails : tails_) tails.fill_bytes(0);
    for (auto& own : own_) own.fill_bytes(0);
    memory_.clear();
}

std::vector<std::uint64_t> message_rings::drawn(int pe) const {
    const auto tails = tails_[static_cast<std::size_t>(pe)].copy_out();
    std::vector<std::uint64_t> all;
    for (std::size_t other = 0; other < tails.size(); other += tail_stride) all.push_back(tails[other]);
    return all;
}

std::vector<std::uint64_t> message_rings::flags(int source, int destination) const {
    const chunk_ring_layout& ring = rings_[number(source, destination)].from;
    std::vector<std::uint64_t> all(ring.n_slots);
    machine_.device(destination)->copy_out(all.data(), ring.flags, all.size() * sizeof(all[0]));
    return all;
}

std::uint64_t message_rings::bytes(int n_pes, std::uint32_t slots, std::uint32_t slot_bytes) {
    const std::uint64_t words = (chunk_words + 2) * sizeof(std::uint64_t);
    return static_cast<std::uint64_t>(n_pes) * (slots * (slot_bytes + words) + destructive_bytes);
}

}  // namespace laneway
