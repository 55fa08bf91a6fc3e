// Bulk copies of CPU devices: memcpy, which knows the processor's best way for each size.
#pragma once

#include <cstring>

#include "laneway/simt/bulk_staging.hpp"
#include "laneway/simt/cpu/context.hpp"

namespace laneway {

template <>
struct bulk_copier<cpu::context> {
    static bool available() { return true; }
    static void open(bulk_staging& staging) { staging.owned = 0; }
    static void begin(cpu::context&) {}
    static status copy(cpu::context&, bulk_staging&, bulk_progress&, std::byte* to, const std::byte* from,
                       std::uint64_t bytes) {
        std::memcpy(to, from, bytes);
        return status::ok;
    }
    static status end(cpu::context&, bulk_staging&, bulk_progress&) { return status::ok; }
};

}  // namespace laneway
