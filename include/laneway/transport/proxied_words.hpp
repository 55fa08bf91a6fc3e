// The proxied model of a word channel: a host thread carries what has changed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/simt/device.hpp"
#include "laneway/simt/host_service.hpp"
#include "laneway/transport/word_channel.hpp"

namespace laneway {

/// Words in two halves, each in memory that its own PE and the host reach: staging, where the source puts values, and
/// landing, where the destination takes them. Attached to a machine (machine::attach), the host copies each word that
/// has changed, in any order, as words prove themselves. It does not see a value whose words are, bit for bit, those of
/// the one before in their place: so 2^32 values with the same data in between are one too many. Host only.
class proxied_words final : public host_service {
public:
    /// Throws system_error or cuda_error without memory.
    proxied_words(const std::shared_ptr<device>& source, const std::shared_ptr<device>& destination,
                  std::size_t n_words);

    /// For lanes of the source, and for those of the destination.
    [[nodiscard]] word_sender sender() const { return word_sender(staging_.get()); }
    [[nodiscard]] word_receiver receiver() const { return word_receiver(landing_.get()); }

    [[nodiscard]] int threads() const override { return 1; }
    void open() override;
    bool turn(host_context& ctx, int thread) override;
    [[nodiscard]] std::string account() const override;
    /// Throws device_fault for words that were put and never carried.
    void audit() const override;

private:
    std::shared_ptr<std::byte> staging_, landing_;
    std::vector<std::uint64_t> carried_;  ///< by word: as it was carried last
    std::uint64_t count_ = 0;             ///< words carried
};

}  // namespace laneway
