// The styles side by side: the same program written in each way to send small messages from GPU code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"

namespace laneway::styles {

enum class style {
    coprocessor,           ///< the host exchanges messages between kernels
    direct,                ///< each lane accesses remote memory itself
    coalesced,             ///< a block sorts its messages and puts them in bulk, one destination after another
    coalesced_aggregated,  ///< the same block-wide call, whose bulk Laneway gathers with that of other blocks
    laneway,               ///< each lane posts its message
};
inline constexpr int n_styles = 5;

std::string to_string(style s);
/// Reads what to_string writes; throws usage_error for another word.
style parse_style(const std::string& text);

struct study_options {
    options job;                  ///< devices and deadline of each launch; the styles use all else as it is
    unsigned log2_messages = 20;  ///< about 2^log2_messages messages a device, 8 to 30
    /// Styles that buffer messages between kernels: most of a device at once.
    std::uint64_t round_messages = std::uint64_t{1} << 24;
};

/// One program with its input on the devices. Host only; one call at a time.
class study {
public:
    /// `program`: "gups", "kmer" or "pagerank". Throws usage_error for another one, sizes out of range, and devices
    /// that do not share memory or are checked ones.
    static std::unique_ptr<study> open(const std::string& program, const study_options& options);
    virtual ~study() = default;

    /// Seconds of each of `runs` runs in a style, after one that warms up. Each starts anew and is checked: throws
    /// device_fault where its result is not the reference's, timeout_error where a launch takes too long.
    std::vector<double> measure(style which, int runs);

    /// Messages of a run, those to the own device too.
    [[nodiscard]] virtual std::uint64_t messages() const = 0;
    /// What is wrong with the result on the devices; empty where it is the reference's.
    [[nodiscard]] virtual std::string difference() = 0;

private:
    virtual void prepare(style which) = 0;
    virtual void reset() = 0;
    virtual void run() = 0;
};

}  // namespace laneway::styles
