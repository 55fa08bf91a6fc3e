#include "laneway/transport/proxy.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

/// Words behind which others get a turn in a checked run, where a look is no step: most words have not changed.
constexpr std::size_t looks_at_once = 4096;

/// A look that orders nothing.
std::uint64_t look(const std::uint64_t* word) {
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
}

}  // namespace

std::shared_ptr<proxy> proxy::of(machine& machine) {
    if (machine.transport() == transport_model::mapped || machine.n_pes() == 1) return nullptr;
    auto made = std::make_shared<proxy>();
    machine.attach(made);
    return made;
}

std::size_t proxy::add(const direction& added) {
    all_.push_back({added, std::vector<std::uint64_t>(added.words)});
    return all_.size() - 1;
}

void proxy::forget(std::size_t number) {
    auto& carried = all_[number].carried;
    std::fill(carried.begin(), carried.end(), 0);
}

bool proxy::turn(host_context& ctx, int) {
    bool any = false;
    for (auto& one : all_) any = carry(ctx, one) || any;
    return any;
}

bool proxy::carry(host_context& ctx, carried_direction& one) {
    const direction& at = one.at;
    bool any = false;
    for (std::size_t i = 0; i < at.words; ++i) {
        if ((i + 1) % looks_at_once == 0) ctx.pause(0);
        if (look(at.from + i) == one.carried[i]) continue;
        any = true;
        // Partners: the stores of chunk_sender, chunk_receiver and word_sender, behind a fence where they have made
        // one.
        const std::uint64_t word = ctx.load(at.from + i, order::acquire, scope::system);
        if (at.slots_from != nullptr) {
            // The writer had a credit for the ticket, so the reader has drained the slot.
            const std::size_t slot = i * at.slot_bytes;
            if (!chunk_label::in(word).in_words()) std::memcpy(at.slots_to + slot, at.slots_from + slot, at.slot_bytes);
            ++chunks_;
        } else {
            ++words_;
        }
        one.carried[i] = word;
        // Partners: the loads of chunk_receiver, chunk_sender and word_receiver.
        ctx.store(at.to + i, word, order::release, scope::system);
    }
    return any;
}

std::string proxy::account() const {
    return "; proxy: " + std::to_string(chunks_) + " chunks and " + std::to_string(words_) + " other words carried";
}

void proxy::audit() const {
    for (const auto& one : all_) {
        for (std::size_t i = 0; i < one.at.words; ++i) {
            if (look(one.at.from + i) == one.carried[i]) continue;
            throw device_fault("audit mismatch: PE " + std::to_string(one.at.writer) + " wrote word " +
                               std::to_string(i) + " of " + std::to_string(one.at.words) + " for PE " +
                               std::to_string(one.at.reader) + ", and the proxy has not carried it");
        }
    }
}

std::vector<checked::carried_memory> proxy::carries() const {
    std::vector<checked::carried_memory> all;
    for (const auto& [at, carried] : all_) {
        all.push_back({reinterpret_cast<const std::byte*>(at.from), reinterpret_cast<const std::byte*>(at.to),
                       at.words * sizeof(std::uint64_t)});
        if (at.slots_from != nullptr) all.push_back({at.slots_from, at.slots_to, at.words * at.slot_bytes});
    }
    return all;
}

}  // namespace laneway
