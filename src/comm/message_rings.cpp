#include "laneway/comm/two_sided/message_rings.hpp"

namespace laneway {

message_rings::message_rings(machine& machine, std::uint32_t slots, std::uint32_t slot_bytes)
    : machine_(machine), rings_(static_cast<std::size_t>(machine.n_pes()) * static_cast<std::size_t>(machine.n_pes())) {
    const auto n = static_cast<std::size_t>(machine.n_pes());
    for (int pe = 0; pe < machine.n_pes(); ++pe) tails_.emplace_back(machine.device(pe), n * tail_stride);
    for (int pe = 0; pe < machine.n_pes(); ++pe) connect(pe, slots, slot_bytes);
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        std::vector<chunk_sender> to(n);
        std::vector<chunk_receiver> from(n);
        for (int other = 0; other < machine.n_pes(); ++other) {
            to[static_cast<std::size_t>(other)] = chunk_sender(ring(pe, other));
            from[static_cast<std::size_t>(other)] = chunk_receiver(ring(other, pe));
        }
        to_.emplace_back(machine.device(pe), n).copy_in(to);
        from_.emplace_back(machine.device(pe), n).copy_in(from);
    }
}

/// Places all rings that lead to a PE, and the credits that come back to it.
void message_rings::connect(int reader, std::uint32_t slots, std::uint32_t slot_bytes) {
    const std::size_t flag_bytes = slots * sizeof(std::uint64_t), payload = std::size_t{slots} * slot_bytes;
    const auto all = [&](std::size_t bytes) { return [bytes](int) { return bytes; }; };
    const auto payloads = allocate_for_reader(machine_, reader, all(payload), slots_);
    const auto words = allocate_for_reader(machine_, reader, all(chunk_words * flag_bytes), words_);
    const auto flags = allocate_for_reader(machine_, reader, all(flag_bytes), words_);
    const auto credits = allocate_for_reader(machine_, reader, all(flag_bytes), words_);
    own_.emplace_back(machine_.device(reader), payload + (chunk_words + 2) * flag_bytes);
    std::byte* const own = own_.back().data();
    for (int other = 0; other < machine_.n_pes(); ++other) {
        const auto o = static_cast<std::size_t>(other);
        const bool self = other == reader;
        chunk_ring_layout& in = ring(other, reader);
        in.slots = self ? own : payloads[o];
        in.words = reinterpret_cast<std::uint64_t*>(self ? own + payload : words[o]);
        in.flags = reinterpret_cast<std::uint64_t*>(self ? own + payload + chunk_words * flag_bytes : flags[o]);
        in.tail = tails_[o].data() + static_cast<std::size_t>(reader) * tail_stride;
        in.n_slots = slots;
        in.slot_bytes = slot_bytes;
        ring(reader, other).credits =
            reinterpret_cast<std::uint64_t*>(self ? own + payload + (chunk_words + 1) * flag_bytes : credits[o]);
    }
}

void message_rings::reset() {
    for (auto& tails : tails_) tails.fill_bytes(0);
    for (auto& own : own_) own.fill_bytes(0);
    // Host memory or device memory: the PE that reads it can write it as well.
    for (const auto& r : words_) machine_.device(r.reader)->fill(r.memory.get(), 0, r.bytes);
}

std::vector<std::uint64_t> message_rings::drawn(int pe) const {
    const auto tails = tails_[static_cast<std::size_t>(pe)].copy_out();
    std::vector<std::uint64_t> all;
    for (std::size_t other = 0; other < tails.size(); other += tail_stride) all.push_back(tails[other]);
    return all;
}

std::vector<std::uint64_t> message_rings::flags(int source, int destination) const {
    const chunk_ring_layout& ring = rings_[number(source, destination)];
    std::vector<std::uint64_t> all(ring.n_slots);
    machine_.device(destination)->copy_out(all.data(), ring.flags, all.size() * sizeof(all[0]));
    return all;
}

std::uint64_t message_rings::bytes(int n_pes, std::uint32_t slots, std::uint32_t slot_bytes) {
    const std::uint64_t words = (chunk_words + 2) * sizeof(std::uint64_t);
    return static_cast<std::uint64_t>(n_pes) * (slots * (slot_bytes + words) + destructive_bytes);
}

}  // namespace laneway
