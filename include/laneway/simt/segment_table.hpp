// Where the parts of symmetric arrays lie, for every PE: the host's copy of the table, and the PEs' own.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "laneway/base/transport_model.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/environment.hpp"

namespace laneway {

/// Numbers segments, each once: what is left of the name of a freed one names nothing, and never another array. Any
/// thread.
class segment_table {
public:
    /// `transport`: how the PEs that have these devices reach each other.
    segment_table(std::vector<std::shared_ptr<device>> devices, transport_model transport)
        : devices_(std::move(devices)), transport_(transport) {}

    /// Adds a segment, `bytes` behind one base a PE, and returns its number. Throws usage_error where all numbers have
    /// been given.
    std::uint32_t add(const std::vector<void*>& bases, std::uint64_t bytes);
    /// Bytes of a segment on a PE; 0 of one that was removed or never added.
    [[nodiscard]] std::uint64_t size(std::uint32_t segment) const;
    /// The same of each.
    [[nodiscard]] std::vector<std::uint64_t> sizes() const;
    /// Where a segment lies on a PE, in that device's memory; null where there is none.
    [[nodiscard]] void* base(std::uint32_t segment, int pe) const;
    /// How many more can be added.
    [[nodiscard]] std::uint64_t left() const;
    /// From the next run on the segment holds nothing, on no PE.
    void remove(std::uint32_t segment) noexcept;
    /// Whether lanes of a PE can store into memory of another one.
    [[nodiscard]] bool reaches(std::size_t pe, std::size_t other) const;
    /// Brings the PEs' tables up to date. Between runs.
    void publish(std::vector<pe_environment>& environments);

private:
    void grow();

    std::vector<std::shared_ptr<device>> devices_;
    transport_model transport_;
    mutable std::mutex changing_;                  ///< arrays may be freed on any thread
    std::vector<void*> bases_;                     ///< [segment][PE]
    std::vector<std::uint64_t> bytes_;             ///< [segment]
    std::size_t published_ = 0;                    ///< segments that the PEs' tables show as they are: the first ones
    std::size_t room_ = 0;                         ///< segments, in the PEs' tables
    std::vector<buffer<void*>> pe_bases_;          ///< by PE; null where it cannot reach the other
    std::vector<buffer<std::uint64_t>> pe_bytes_;  ///< by PE
};

}  // namespace laneway
