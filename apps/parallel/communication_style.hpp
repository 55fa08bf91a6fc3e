// Styles of communication in which a program may exist, one file a style.
#pragma once

#include <string>

#include "laneway/base/error.hpp"

namespace laneway::apps {

enum class communication_style {
    host_driven,       ///< the host waits for each kernel and each copy, and starts what comes next
    stream_triggered,  ///< kernels, copies and what they wait for are put into streams; the host waits for none of them
    triggered,         ///< one run; copies are prepared, and go off when lanes have written what they copy
    service_warps,     ///< one run; lanes have warps of their PE copy what they have written
    service_host,      ///< the same by host threads, which have copy engines copy where there are GPUs
    collective,        ///< one run; all lanes call a collective operation; the all-reduce alone
};

/// Those of all programs.
inline constexpr communication_style communication_styles[] = {
    communication_style::host_driven, communication_style::stream_triggered, communication_style::triggered,
    communication_style::service_warps, communication_style::service_host};

constexpr const char* to_string(communication_style style) {
    switch (style) {
        case communication_style::host_driven: return "host_driven";
        case communication_style::stream_triggered: return "stream_triggered";
        case communication_style::triggered: return "triggered";
        case communication_style::service_warps: return "service_warps";
        case communication_style::service_host: return "service_host";
        default: return "collective";
    }
}

/// Throws usage_error for a style that is not one of all programs'.
inline void require_common(communication_style style, const std::string& program) {
    for (const communication_style common : communication_styles) {
        if (style == common) return;
    }
    throw usage_error(program + ": it does not exist in the style " + to_string(style));
}

}  // namespace laneway::apps
