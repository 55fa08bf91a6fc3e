// What the operations of a device's stream did when, for timelines. Host only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace laneway {

class timeline;
class stream_backend;

/// Where streams write down what they do; nowhere by default.
struct stream_log {
    static constexpr int host = -1;

    std::shared_ptr<timeline> kept_in;
    int job = 0;    ///< see timeline::enter
    int pe = host;  ///< the device's place in the job, or `host` for streams of the host
};

enum class stream_work { copy, kernel, wait, call };

/// One stream's. An operation begins when the one before it has ended, or when it is given to the device, whichever is
/// later: so a stamp behind each is enough. Used on the engine's thread.
class stream_recorder : public std::enable_shared_from_this<stream_recorder> {
public:
    /// Shorter waits are not told.
    static constexpr std::uint64_t min_wait_ns = 1000;

    stream_recorder(stream_log log, std::string stream);

    /// The operation that was given to the backend last. `begin_ns`: when it could begin at the earliest, by the host's
    /// clock. `label`: what it is, besides its kind.
    void note(stream_backend& by, stream_work kind, std::uint64_t begin_ns, std::string label, std::uint64_t bytes);

private:
    void end(stream_work kind, std::uint64_t begin_ns, std::uint64_t end_ns, std::string label, std::uint64_t bytes);

    stream_log log_;
    std::shared_ptr<const std::string> stream_;
    std::uint64_t last_ns_ = 0;  ///< end of the operation before
};

}  // namespace laneway
