// Word channels: one direction between two PEs, in which the one leaves numbered values in words of the other.
//
// Each word of 8 bytes proves by its tag, the number of the value that it belongs to, that it has arrived
// (queue/tagged_words.hpp). There are no slots to be freed: who puts a value knows by other means that what stood in
// its words has been taken. What the source has fenced before it puts a value is seen by who takes the value with
// acquire.
//
// The source's view stores and never loads, and neither view gives away where its words lie. So a value may be stored
// into memory that the other PE loads from (the mapped model), or be carried there by somebody else (the proxied one,
// proxy.hpp), in whatever order its words come.
#pragma once

#include "laneway/queue/tagged_words.hpp"

namespace laneway {

/// The source's view: trivially copyable, as large as a pointer. Any lane; nothing waits.
class word_sender {
public:
    word_sender() = default;
    /// `words`: as a transport has given them to who writes. Host.
    explicit word_sender(std::uint64_t* words) : words_(words) {}
    explicit word_sender(std::byte* words) : words_(reinterpret_cast<std::uint64_t*>(words)) {}

    /// Leaves a value in the words from number `at` on.
    template <class Ctx, class Value>
    LANEWAY_FN void put(Ctx& ctx, std::uint64_t at, std::uint32_t tag, const Value& value) const {
        store_tagged(ctx, words_ + at, tag, value, Ctx::tagged_order);
    }
    /// The same of one word, the tag in its upper half.
    template <class Ctx>
    LANEWAY_FN void put_word(Ctx& ctx, std::uint64_t at, std::uint64_t word) const {
        // Partner: word_receiver::look.
        ctx.store(words_ + at, word, Ctx::tagged_order, scope::system);
    }
    /// Names a word to checked devices (simt/message_order.hpp).
    [[nodiscard]] LANEWAY_FN const void* place(std::uint64_t at) const { return words_ + at; }

private:
    std::uint64_t* words_ = nullptr;
};

/// The destination's view: the same. Between two values of the source it may store as well, as no value is on its way.
class word_receiver {
public:
    word_receiver() = default;
    /// `words`: as a transport has given them to who reads. Host.
    explicit word_receiver(std::uint64_t* words) : words_(words) {}
    explicit word_receiver(std::byte* words) : words_(reinterpret_cast<std::uint64_t*>(words)) {}

    /// Whether the value with this tag has come, and what it is. `o`: as load_tagged has it.
    template <class Ctx, class Value>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, std::uint64_t at, std::uint32_t tag, Value& value, order o) const {
        return load_tagged(ctx, words_ + at, tag, value, o);
    }
    /// What a word holds; its upper half tells which value that is of.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t look(Ctx& ctx, std::uint64_t at, order o) const {
        // Partner: word_sender::put_word.
        return ctx.load(words_ + at, o, scope::system);
    }
    /// Gives a word a tag that no later value is taken for, where tags come round.
    template <class Ctx>
    LANEWAY_FN void renew(Ctx& ctx, std::uint64_t at, std::uint32_t tag) const {
        ctx.store(words_ + at, std::uint64_t{tag} << 32, order::relaxed, scope::system);
    }
    /// As word_sender::place.
    [[nodiscard]] LANEWAY_FN const void* place(std::uint64_t at) const { return words_ + at; }

private:
    std::uint64_t* words_ = nullptr;
};

}  // namespace laneway
