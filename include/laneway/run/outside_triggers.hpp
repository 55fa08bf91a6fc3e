// Triggers from outside a program: streams, nodes of graphs and ordinary kernels of a user's own set off operations
// that have been prepared. Each has a cell, a word of the PE's memory that says how often it has triggered.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "laneway/comm/triggers/trigger_slot.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/host_triggers.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway {

/// The cells of all PEs, on the host. Any thread, but for what runs begin and end with.
class outside_triggers {
public:
    outside_triggers(machine& machine, std::uint32_t most, symmetric_array<trigger_cell>& cells,
                     symmetric_array<trigger_counters>& counters, host_triggers& host)
        : machine_(machine), most_(most), cells_(cells), counters_(counters), host_(host) {}

    /// A cell for a tag, which each trigger of it triggers `n` times; its number. Throws usage_error where none is
    /// left.
    [[nodiscard]] std::size_t reserve(int pe, std::uint32_t tag, std::uint32_t n);
    [[nodiscard]] std::uint64_t* word(std::size_t number) const;
    /// So many more will come.
    void owe(std::size_t number, std::uint64_t triggers);
    /// The stream triggers when it comes there; that is owed.
    void trigger(std::size_t number, device_stream& stream, std::uint64_t triggers);

    /// Before a run: brings to the devices what is new.
    void begin();
    /// Behind a run that has failed, or when all tags are cleared, before cells are set to 0 and then: what has come so
    /// far, and what streams have been given so far, counts for nothing.
    void forget_before();
    void forget();
    /// A session can be fed from now on: what was owed since it has begun.
    void connect();
    /// "; tag 3 of PE 0 is owed 2 of 5 triggers from outside", for each that is; the devices can be read.
    [[nodiscard]] std::string account() const;

private:
    struct cell {
        int pe = 0;
        std::uint32_t place = 0;  ///< of its PE
        std::uint32_t tag = 0;
        std::uint32_t n = 1;
        std::uint64_t owed = 0;     ///< in all
        std::uint64_t written = 0;  ///< by its stream
        const void* stream = nullptr;
    };

    [[nodiscard]] trigger_cell* at(const cell& c) const { return cells_.data(c.pe) + c.place; }
    void bind(cell& c, const device_stream& stream) const;
    void write(const cell& c, const trigger_cell& value, std::size_t from, std::size_t bytes) const;
    [[nodiscard]] trigger_cell read(const cell& c) const;

    machine& machine_;
    std::uint32_t most_;
    symmetric_array<trigger_cell>& cells_;
    symmetric_array<trigger_counters>& counters_;
    host_triggers& host_;
    mutable std::mutex mutex_;
    std::vector<cell> all_;
    bool changed_ = false;  ///< since the last begin or connect
};

class trigger_memory;

/// A trigger of a PE's tag from outside the program; made by triggers::outside. A handle: copies are the same.
///
/// Either one stream triggers, by this handle, or kernels and nodes of graphs of a user's own do: what wrote before is
/// made visible (`__threadfence_system()`), and `word()` is added to (`atomicAdd`), or one writer stores how often it
/// has triggered in all. Nothing is added to a word that a stream triggers.
class outside_trigger {
public:
    outside_trigger(std::shared_ptr<trigger_memory> memory, std::size_t number)
        : memory_(std::move(memory)), number_(number) {}

    /// Address of the word on the PE's device, and on those that reach its memory.
    [[nodiscard]] std::uint64_t* word() const;
    /// Declares that it will trigger so often, beside what has been declared before and ahead of the triggers: the run,
    /// or the epoch of a session, that is told does not end before they have come and what they set off is done, and
    /// past the deadline the error names the tag. Without that they count when they are seen, and those that come too
    /// late for a run count for the next. Either all triggers of a word are declared, or none.
    void owe(std::uint64_t triggers) const;
    /// Has a stream of the runtime trigger, so often, when all is done that it was given before; declares it as well.
    void trigger(device_stream& stream, std::uint64_t triggers = 1) const;

private:
    std::shared_ptr<trigger_memory> memory_;
    std::size_t number_;
};

}  // namespace laneway
