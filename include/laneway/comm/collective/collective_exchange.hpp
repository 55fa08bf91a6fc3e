// One round of a group: the words that its members write for each other, and how they are awaited.
//
// Every member tells every other one the header of the round, whatever else it sends, and leaves the round only when it
// has the headers of all. Two slots suffice therefore, and nobody acknowledges anything: a member writes the words of
// round r + 2 when it has left round r + 1, so it has a header of round r + 1 from every other member. That one had
// left round r before, so it had read all words of round r, which the new ones replace. Where several warps are one
// member, they meet between rounds, so "has read" and "has left" hold for all of them.
//
// A word proves by its tag, the lower 32 bits of the round, that it belongs to the round. For a word that stands there
// since just 2^32 rounds this would be wrong. So each round renews one word of the slot, the next one each time: no
// word gets older than twice as many rounds as a slot has words. Members wait for it as they do for the header: a store
// that nobody waits for might come when the word is in use again.
#pragma once

#include "laneway/comm/collective/collective_wait.hpp"
#include "laneway/comm/collective/collectives_ref.hpp"

namespace laneway {

/// Elements that a warp deals with: its lane l has first + l, first + l + step and so on.
struct warp_share {
    std::uint32_t first = 0;
    std::uint32_t step = 1;
};

/// A round of one group, as the speaker of this PE sees it, or a warp that helps.
struct group_round {
    group kind = group::grid;
    std::uint32_t number = 0;  ///< of the group
    std::uint64_t round = 0;
    std::uint32_t signature = 0;  ///< which collective it is; see signature_of
    bool speaks = true;           ///< sends this PE's headers
    bool hears = true;            ///< waits for those of the others
    warp_share share;
};

/// The whole warp calls each function, together, unless it says that any lane does.
template <class Ctx, class Idle>
class collective_exchange {
public:
    LANEWAY_FN collective_exchange(Ctx& ctx, const collectives_ref& ref, const group_round& at, Idle& idle)
        : ctx_(ctx), ref_(ref), at_(at), idle_(idle), words_(ref.words_of(at.kind)),
          slot_(words_.slot(at.number, at.round)),
          renewed_(static_cast<std::uint32_t>(at.round / 2) & (words_.data_words - 1)), next_(ctx.n_pes()),
          next_renewed_(next_) {}

    [[nodiscard]] LANEWAY_FN const warp_share& share() const { return at_.share; }
    [[nodiscard]] LANEWAY_FN Ctx& context() { return ctx_; }

    /// Tells the others the header. `sends(pe, word)`: whether the round sends that word of its slot to a PE.
    template <class Sends>
    LANEWAY_FN void begin(Sends&& sends) {
        // Looked at in finish: the load takes as long as the words do.
        stopping_ = stopped(ctx_);
        if (at_.hears) next_ = next_renewed_ = next_after(ctx_.lane() - Ctx::warp_lanes);
        if (!at_.speaks) return;
        for (int pe = next_after(ctx_.lane() - Ctx::warp_lanes); pe < ctx_.n_pes(); pe = next_after(pe)) {
            store(pe, words_.data_words, at_.signature);
            if (!sends(pe, renewed_)) store(pe, renewed_, 0);
        }
    }

    /// The same for a round that sends so many words to each, from the first one on.
    LANEWAY_FN void begin_with(std::uint32_t used) {
        begin([used](int, std::uint32_t word) { return word < used; });
    }

    /// Waits for the headers that have not been heard yet, and until `look()` holds. Returns ok where they have come
    /// and the run goes on.
    template <class Look>
    LANEWAY_FN status finish(Look&& look) {
        const status heard = await([&] {
            // Where all words of others are here, `look` waits for this PE.
            missing_ = next_renewed_ < ctx_.n_pes() ? next_renewed_ : ctx_.pe();
            const bool here = look();
            return next_renewed_ >= ctx_.n_pes() && here;
        });
        if (heard != status::ok) return heard;
        return ctx_.ballot(full_warp<Ctx>, stopping_) == 0 ? status::ok : status::stopped;
    }
    LANEWAY_FN status finish() {
        return finish([] { return true; });
    }

    /// After finish: what other members did before they fenced and began comes before what this lane does next.
    LANEWAY_FN void acquire() {
        for (int pe = next_after(ctx_.lane() - Ctx::warp_lanes); pe < ctx_.n_pes(); pe = next_after(pe)) {
            // Partner: the stores of begin, behind a fence of the sender.
            (void)ref_.from[pe].look(ctx_, header_word(), order::acquire);
            come_behind(ctx_, ref_.from[pe].place(header_word()));
        }
    }
    /// Before begin: see acquire. The lanes of the warp have synchronised.
    LANEWAY_FN void release() {
        ctx_.fence(order::release, scope::system);
        for (int pe = next_after(ctx_.lane() - Ctx::warp_lanes); pe < ctx_.n_pes(); pe = next_after(pe)) {
            go_before(ctx_, ref_.to[pe].place(header_word()));
        }
    }

    /// Sends a value to a PE, or to all others: words `at`, `at + plane` and so on. Any lane; does not wait.
    /// Neighbouring lanes have neighbouring words, whatever a value's size is.
    template <class T>
    LANEWAY_FN void put(int pe, std::uint32_t at, std::uint32_t plane, const T& value) {
        if (!wants(pe)) return;
        const auto parts = __builtin_bit_cast(value_words<T>, padded_value<T>{value});
        for (std::uint32_t w = 0; w < tagged_words<T>; ++w) store(pe, at + w * plane, parts.words[w]);
    }
    template <class T>
    LANEWAY_FN void put_to_all(std::uint32_t at, std::uint32_t plane, const T& value) {
        for (int pe = 0; pe < ctx_.n_pes(); ++pe) put(pe, at, plane, value);
    }

    /// Waits for the values of all members at one place and calls `visit(pe, value)` for each in order of PEs, with
    /// `own` for this one. Each lane has a place of its own; one that is not `active` has none.
    template <class T, class Visit>
    LANEWAY_FN status collect(bool active, std::uint32_t at, std::uint32_t plane, const T& own, Visit&& visit) {
        for (int first = 0; first < ctx_.n_pes(); first += batch) {
            T values[batch] = {};
            const status came = await([&] { return have_come(active, first, at, plane, values); });
            if (came != status::ok) return came;
            for (int i = 0; active && i < batch; ++i) {
                if (first + i == ctx_.pe()) values[i] = own;
                if (is_member(first + i)) visit(first + i, values[i]);
            }
        }
        return status::ok;
    }

    /// Waits for a value of one other PE.
    template <class T>
    LANEWAY_FN status take(bool active, int pe, std::uint32_t at, std::uint32_t plane, T& value) {
        return await([&] {
            if (!active) return true;
            std::uint64_t words[tagged_words<T>];
            load(pe, at, plane, words);
            missing_ = pe;
            return read(words, value);
        });
    }

private:
    /// PEs whose words a lane looks at together: their loads are all on their way before the first is waited for.
    static constexpr int batch = Ctx::warp_lanes == 1 ? 1 : 4;

    [[nodiscard]] LANEWAY_FN std::uint64_t tagged(std::uint32_t data) const { return at_.round << 32 | data; }
    [[nodiscard]] LANEWAY_FN bool is_of_round(std::uint64_t word) const { return (tagged(0) ^ word) >> 32 == 0; }
    [[nodiscard]] LANEWAY_FN bool is_member(int pe) const {
        return pe < ctx_.n_pes() && ref_.takes_part(pe, at_.kind, at_.number);
    }
    [[nodiscard]] LANEWAY_FN bool wants(int pe) const { return pe != ctx_.pe() && is_member(pe); }
    /// The next PE that this lane tells and hears headers of; n_pes: none.
    [[nodiscard]] LANEWAY_FN int next_after(int pe) const {
        do pe += Ctx::warp_lanes;
        while (pe < ctx_.n_pes() && !wants(pe));
        return pe;
    }
    /// Number of the round's header among the words.
    [[nodiscard]] LANEWAY_FN std::uint64_t header_word() const { return slot_ + words_.data_words; }

    [[nodiscard]] LANEWAY_FN std::uint64_t load(int pe, std::uint64_t word) {
        return ref_.from[pe].look(ctx_, word, tagged_load_order<Ctx>);
    }

    LANEWAY_FN void store(int pe, std::uint64_t at, std::uint32_t data) {
        ref_.to[pe].put_word(ctx_, slot_ + at, tagged(data));
    }
    template <std::size_t N>
    LANEWAY_FN void load(int pe, std::uint32_t at, std::uint32_t plane, std::uint64_t (&words)[N]) {
        const word_receiver from = ref_.from[pe];
        for (std::uint32_t w = 0; w < N; ++w) {
            words[w] = from.look(ctx_, slot_ + at + w * plane, tagged_load_order<Ctx>);
        }
    }
    /// The value that words hold, if all are of this round.
    template <class T>
    [[nodiscard]] LANEWAY_FN bool read(const std::uint64_t (&words)[tagged_words<T>], T& value) const {
        value_words<T> parts;
        bool here = true;
        for (std::uint32_t w = 0; w < tagged_words<T>; ++w) {
            here = here && is_of_round(words[w]);
            parts.words[w] = static_cast<std::uint32_t>(words[w]);
        }
        if (here) value = __builtin_bit_cast(padded_value<T>, parts).value;
        return here;
    }

    template <class T>
    LANEWAY_FN bool have_come(bool active, int first, std::uint32_t at, std::uint32_t plane, T (&values)[batch]) {
        std::uint64_t words[batch][tagged_words<T>] = {};
        for (int i = 0; i < batch; ++i) {
            if (active && wants(first + i)) load(first + i, at, plane, words[i]);
        }
        bool here = true;
        for (int i = 0; i < batch; ++i) {
            if (!active || !wants(first + i) || read(words[i], values[i])) continue;
            here = false;
            missing_ = first + i;
        }
        return here;
    }

    /// Waits until `look()` holds on all lanes and all headers have been heard.
    template <class Look>
    LANEWAY_FN status await(Look&& look) {
        const auto all = [&] {
            const bool listens = next_ < ctx_.n_pes(), renews = next_renewed_ < ctx_.n_pes();
            // On their way together with what `look` loads.
            std::uint64_t header = 0, renewed = 0;
            if (listens) header = load(next_, header_word());
            if (renews) renewed = load(next_renewed_, slot_ + renewed_);
            const bool here = look();
            if (renews && is_of_round(renewed)) next_renewed_ = next_after(next_renewed_);
            return (!listens || listen(header)) && here;
        };
        return await_all_lanes(
            ctx_, all,
            [&] {
                return wait_site{operation::collective, missing_, at_.round};
            },
            idle_);
    }
    /// Whether all headers that this lane hears have come, of which it has just looked at one.
    LANEWAY_FN bool listen(std::uint64_t header) {
        while (is_of_round(header)) {
            if (static_cast<std::uint32_t>(header) != at_.signature) {
                (void)fail(ctx_, status::collective_mismatch, operation::collective, next_, at_.round);
                break;
            }
            next_ = next_after(next_);
            if (next_ >= ctx_.n_pes()) return true;
            header = load(next_, header_word());
        }
        missing_ = next_;
        return false;
    }

    Ctx& ctx_;
    const collectives_ref& ref_;
    const group_round& at_;
    Idle& idle_;
    const group_words& words_;
    std::uint64_t slot_;
    std::uint32_t renewed_;  ///< word that the round renews
    int next_;               ///< PE whose header this lane waits for
    int next_renewed_;       ///< PE whose renewed word it waits for
    int missing_ = -1;       ///< PE that this lane saw last that had not sent what it should
    bool stopping_ = false;
};

}  // namespace laneway
