#include "laneway/simt/checked/pointer.hpp"

#include "laneway/simt/checked/misuse.hpp"

namespace laneway::checked {

void report_missing(const lane_position& lane, const symmetric_part& part, std::uint64_t index,
                    const std::source_location& where) {
    // Behind the end, or before the start, which wraps.
    const auto number = static_cast<std::int64_t>(index);
    if (part.segment == unnamed_segment) {
        throw misuse(lane.text() + ": element " + std::to_string(number) +
                     " of a symmetric_ref that was never set, in " + text_of(where));
    }
    const std::string there = !part.exists         ? "which has been freed, or never was one of this runtime"
                              : part.elements == 0 ? "which has none"
                                                   : "which has 0 to " + std::to_string(part.elements - 1) + ", of " +
                                                         std::to_string(part.element_bytes) + " bytes each";
    throw misuse(lane.text() + ": element " + std::to_string(number) + " of " + text_of_array(part.segment) + " on " +
                 text_of_pe(part.pe) + ", " + there + ", in " + text_of(where));
}

}  // namespace laneway::checked
