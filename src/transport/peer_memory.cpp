#include "laneway/transport/peer_memory.hpp"

#include <utility>

#include "laneway/transport/transport.hpp"

namespace laneway {

namespace {

std::uint64_t* words_at(std::byte* memory) { return reinterpret_cast<std::uint64_t*>(memory); }

}  // namespace

std::vector<peer_memory::part> peer_memory::allocate(int reader, const std::function<std::size_t(int)>& bytes_from,
                                                     std::vector<piece>& pieces) {
    return proxy_ ? stage(reader, bytes_from, pieces) : map(reader, bytes_from, pieces);
}

std::vector<peer_memory::part> peer_memory::map(int reader, const std::function<std::size_t(int)>& bytes_from,
                                                std::vector<piece>& pieces) {
    std::vector<part> parts(static_cast<std::size_t>(machine_.n_pes()));
    const auto& to = machine_.device(reader);
    for (const auto& way : all_transports()) {
        std::vector<int> writers;
        std::size_t bytes = 0;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            if (pe == reader || &find_transport(*machine_.device(pe), *to) != way.get()) continue;
            writers.push_back(pe);
            bytes += bytes_from(pe);
        }
        if (bytes == 0) continue;
        // The machine has connected all its GPUs, so one writer speaks for the others.
        pieces.push_back({reader, way->allocate(machine_.device(writers[0]), to, bytes), bytes, false});
        std::byte* next = pieces.back().memory.get();
        for (const int writer : writers) {
            if (bytes_from(writer) == 0) continue;
            parts[static_cast<std::size_t>(writer)] = {next, next};
            next += bytes_from(writer);
        }
    }
    return parts;
}

std::vector<peer_memory::part> peer_memory::stage(int reader, const std::function<std::size_t(int)>& bytes_from,
                                                  std::vector<piece>& pieces) {
    std::vector<part> parts(static_cast<std::size_t>(machine_.n_pes()));
    std::size_t bytes = 0;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) bytes += pe == reader ? 0 : bytes_from(pe);
    if (bytes == 0) return parts;
    std::byte* next = place(reader, bytes, false, pieces);
    for (int writer = 0; writer < machine_.n_pes(); ++writer) {
        const std::size_t mine = writer == reader ? 0 : bytes_from(writer);
        if (mine == 0) continue;
        parts[static_cast<std::size_t>(writer)] = {place(writer, mine, true, pieces), next};
        next += mine;
    }
    return parts;
}

std::byte* peer_memory::place(int user, std::size_t bytes, bool staging, std::vector<piece>& pieces) {
    pieces.push_back({user, allocate_for_proxy(machine_.device(user), bytes), bytes, staging});
    proxy_->keep(pieces.back().memory);
    return pieces.back().memory.get();
}

/// Where a job has several processes, that of the writer carries.
void peer_memory::carry(proxy::direction direction, const part& words, int writer, int reader) {
    if (!proxy_ || words.written == nullptr || !machine_.is_own(writer)) return;
    direction.from = words_at(words.written);
    direction.to = words_at(words.read);
    direction.writer = writer;
    direction.reader = reader;
    carried_.push_back(proxy_->add(direction));
}

std::vector<peer_memory::part> peer_memory::add_words(int reader, const std::function<std::size_t(int)>& bytes_from) {
    const auto parts = allocate(reader, bytes_from, words_);
    for (int writer = 0; writer < machine_.n_pes(); ++writer) {
        proxy::direction words;
        words.words = bytes_from(writer) / sizeof(std::uint64_t);
        carry(words, parts[static_cast<std::size_t>(writer)], writer, reader);
    }
    return parts;
}

std::vector<peer_ring> peer_memory::add_rings(const std::vector<std::uint32_t>& slots, std::uint32_t slot_bytes,
                                              const std::function<void()>& look) {
    const std::size_t n = slots.size();
    std::vector<peer_ring> rings(n * n);
    for (std::size_t pe = 0; pe < n; ++pe) {
        look();
        const int reader = static_cast<int>(pe);
        const std::size_t flag_bytes = slots[pe] * sizeof(std::uint64_t);
        const auto all = [](std::size_t bytes) { return [bytes](int) { return bytes; }; };
        ring_parts into;
        into.slots = allocate(reader, all(std::size_t{slots[pe]} * slot_bytes), slots_);
        into.words = add_words(reader, all(chunk_words * flag_bytes));
        into.flags = allocate(reader, all(flag_bytes), words_);
        const auto credits = add_words(
            reader, [&](int writer) { return slots[static_cast<std::size_t>(writer)] * sizeof(std::uint64_t); });
        for (std::size_t other = 0; other < n; ++other) {
            if (other == pe) continue;
            peer_ring& in = rings[other * n + pe];
            in.to.n_slots = in.from.n_slots = slots[pe];
            in.to.slot_bytes = in.from.slot_bytes = slot_bytes;
            connect(in, into, static_cast<int>(other), reader);
            rings[pe * n + other].to.credits = words_at(credits[other].read);
            rings[pe * n + other].from.credits = words_at(credits[other].written);
        }
    }
    return rings;
}

void peer_memory::connect(peer_ring& ring, const ring_parts& into, int writer, int reader) {
    const auto w = static_cast<std::size_t>(writer);
    for (auto& [end, side] : {std::pair{&ring.to, &part::written}, std::pair{&ring.from, &part::read}}) {
        end->slots = into.slots[w].*side;
        end->words = words_at(into.words[w].*side);
        end->flags = words_at(into.flags[w].*side);
    }
    proxy::direction chunks;
    chunks.words = ring.to.n_slots;
    chunks.slots_from = ring.to.slots;
    chunks.slots_to = ring.from.slots;
    chunks.slot_bytes = ring.to.slot_bytes;
    carry(chunks, into.flags[w], writer, reader);
}

void peer_memory::clear() {
    // Host memory or device memory: who uses it can write it as well.
    for (const auto& p : words_) machine_.device(p.user)->fill(p.memory.get(), 0, p.bytes);
    for (const std::size_t number : carried_) proxy_->forget(number);
}

std::uint64_t peer_memory::staging_bytes(int pe) const {
    std::uint64_t sum = 0;
    for (const auto* pieces : {&words_, &slots_}) {
        for (const auto& p : *pieces) sum += p.staging && p.user == pe ? p.bytes : 0;
    }
    return sum;
}

}  // namespace laneway
