// Host owner of one PE's halo copies.
#pragma once

#include "laneway/flow/halo_copies.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

template <class Key>
class halo_copies {
public:
    /// Of a graph of so many vertices; none for a job of one PE, which sends nothing.
    halo_copies(const std::shared_ptr<device>& owner, std::uint64_t vertices, int n_pes)
        : words_(owner, n_pes > 1 ? vertices : 0) {}

    /// Nothing has been sent. Host, between runs.
    void reset() {
        if (words_.size() > 0) words_.fill_bytes(0xff);
    }
    [[nodiscard]] halo_copies_ref<Key> ref() const { return {words_.data()}; }

private:
    buffer<Key> words_;
};

}  // namespace laneway
