#include "laneway/transport/proxied_words.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

std::uint64_t* words_of(const std::shared_ptr<std::byte>& memory) {
    return reinterpret_cast<std::uint64_t*>(memory.get());
}

}  // namespace

proxied_words::proxied_words(const std::shared_ptr<device>& source, const std::shared_ptr<device>& destination,
                             std::size_t n_words)
    : staging_(allocate_host_visible(source, n_words * sizeof(std::uint64_t))),
      landing_(allocate_host_visible(destination, n_words * sizeof(std::uint64_t))), carried_(n_words) {}

void proxied_words::open() {
    std::fill_n(words_of(staging_), carried_.size(), 0);
    std::fill_n(words_of(landing_), carried_.size(), 0);
    std::fill(carried_.begin(), carried_.end(), 0);
    count_ = 0;
}

bool proxied_words::turn(host_context& ctx, int) {
    bool any = false;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
        // Partners: the stores of word_sender, behind a fence of the source where it has made one.
        const std::uint64_t word = ctx.load(words_of(staging_) + i, order::acquire, scope::system);
        if (word == carried_[i]) continue;
        carried_[i] = word;
        ++count_;
        // Partners: the loads of word_receiver.
        ctx.store(words_of(landing_) + i, word, order::release, scope::system);
        any = true;
    }
    return any;
}

std::string proxied_words::account() const { return "; proxied words: " + std::to_string(count_) + " carried"; }

void proxied_words::audit() const {
    const auto differing = std::mismatch(carried_.begin(), carried_.end(), words_of(staging_)).first;
    if (differing == carried_.end()) return;
    throw device_fault("audit mismatch: word " + std::to_string(differing - carried_.begin()) +
                       " of a proxied word channel was put and not carried");
}

}  // namespace laneway
