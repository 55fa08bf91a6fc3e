#include "laneway/base/report.hpp"

namespace laneway {

std::string waiting_tag::text() const {
    const std::string name = "tag " + std::to_string(tag) + " of PE " + std::to_string(pe) + ": ";
    if (threshold == 0) return name + "not prepared, triggered " + std::to_string(count) + " times";
    return name + std::to_string(count) + " of " + std::to_string(threshold) + " triggers, fired " +
           std::to_string(fired) + " times";
}

}  // namespace laneway
