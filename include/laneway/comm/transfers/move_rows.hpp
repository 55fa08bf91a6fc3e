// How lanes move rows of a transfer.
#pragma once

#include "laneway/comm/transfers/transfer.hpp"
#include "laneway/comm/triggers/move_range.hpp"

namespace laneway {

/// Where the rows of a transfer lie.
template <class Ctx>
class transfer_rows {
public:
    LANEWAY_FN transfer_rows(const Ctx& ctx, const transfer& t)
        : t_(t), from_(remote_address(ctx, t.from(), t.from_pe())), to_(remote_address(ctx, t.to(), t.to_pe())),
          indices_(t.form() == transfer::shape::rows ? nullptr : address(ctx, t.indices())) {}

    /// The numbers of a row on either side; bad_index, and the run ends, where an index names none.
    LANEWAY_FN status find(Ctx& ctx, std::uint64_t row, std::uint64_t& source, std::uint64_t& target) const {
        source = target = row;
        if (indices_ == nullptr) return status::ok;
        const std::uint32_t index = index_at(ctx, row);
        const bool gathers = t_.form() == transfer::shape::gather;
        const symmetric_ptr<std::byte> first = gathers ? t_.from() : t_.to();
        const std::uint64_t pitch = gathers ? t_.from_pitch() : t_.to_pitch();
        const std::uint64_t held = (ctx.environment().segment_bytes[first.segment] - first.index) / pitch;
        if (index >= held) return refuse(ctx, index, held);
        (gathers ? source : target) = index;
        return status::ok;
    }
    [[nodiscard]] LANEWAY_FN remote_ptr<const std::byte> from(std::uint64_t source) const {
        return from_ + source * t_.from_pitch();
    }
    [[nodiscard]] LANEWAY_FN remote_ptr<std::byte> to(std::uint64_t target) const {
        return to_ + target * t_.to_pitch();
    }
    /// What all addresses and lengths of a piece are multiples of, up to 16.
    [[nodiscard]] LANEWAY_FN std::uint64_t alignment(const transfer_piece& piece) const {
        std::uint64_t all = from_.address_bits() | to_.address_bits() | piece.first | piece.bytes | 16;
        if (t_.rows() > 1 || indices_ != nullptr) all |= t_.from_pitch() | t_.to_pitch();
        return all & (~all + 1);
    }

private:
    /// A function of its own: loops over rows keep their registers.
    LANEWAY_SLOW status refuse(Ctx& ctx, std::uint64_t index, std::uint64_t held) const {
        const int pe = t_.form() == transfer::shape::gather ? t_.from_pe() : t_.to_pe();
        return fail(ctx, status::bad_index, operation::carry, pe, index, held);
    }
    LANEWAY_FN std::uint32_t index_at(Ctx& ctx, std::uint64_t row) const {
        if constexpr (checks_accesses<Ctx>) {
            const std::uint32_t seen =
                local(ctx, symmetric_ptr<std::uint32_t>{t_.indices().segment, t_.indices().index + row})[0];
            return seen;
        } else {
            return indices_[row];
        }
    }

    const transfer& t_;
    remote_ptr<const std::byte> from_;
    remote_ptr<std::byte> to_;
    const std::uint32_t* indices_;
};

/// A lane's words of rows that have `words` each, counted through all rows: it divides once, and not for each.
struct row_walk {
    std::uint64_t words, row, word;
    std::uint64_t step_rows, step_words;

    LANEWAY_FN row_walk(std::uint64_t words_a_row, copy_share mine)
        : words(words_a_row), row(mine.first / words), word(mine.first - row * words), step_rows(mine.step / words),
          step_words(mine.step - step_rows * words) {}

    LANEWAY_FN void next() {
        row += step_rows;
        word += step_words;
        if (word < words) return;
        word -= words;
        ++row;
    }
};

/// Moves words of short rows: neighbours among the lanes take neighbouring words, of whichever row.
template <std::size_t Bytes, class Ctx>
LANEWAY_FN status move_words(Ctx& ctx, const transfer_rows<Ctx>& rows, const transfer_piece& piece, copy_share mine) {
    constexpr int batch = Bytes < 16 ? 4 : 2;  // loads that are on their way at once, while registers hold them
    for (row_walk at(piece.bytes / Bytes, mine); at.row < piece.rows;) {
        byte_word<Bytes> loaded[batch];
        remote_ptr<byte_word<Bytes>> to[batch];
        int n = 0;
        for (; n < batch && at.row < piece.rows; ++n) {
            std::uint64_t source = 0, target = 0;
            const status found = rows.find(ctx, piece.row + at.row, source, target);
            if (found != status::ok) return found;
            const std::uint64_t first = piece.first + at.word * Bytes;
            loaded[n] = (rows.from(source) + first).template as<const byte_word<Bytes>>().read();
            to[n] = (rows.to(target) + first).template as<byte_word<Bytes>>();
            at.next();
        }
        for (int k = 0; k < batch; ++k) {
            if (k < n) to[k].write(loaded[k]);
        }
    }
    return status::ok;
}

/// The same on checked devices, which see each access: who changes a source too early, or reads a target, is told.
template <class T, class Ctx>
LANEWAY_FN status move_watched(Ctx& ctx, const transfer& t, const transfer_rows<Ctx>& rows, const transfer_piece& piece,
                               copy_share mine) {
    const auto watched = [&](symmetric_ptr<std::byte> first, int pe, std::uint64_t byte) {
        return ctx.template element<T>(first.segment, pe, ~std::uint64_t{0}, (first.index + byte) / sizeof(T),
                                       call_site_of<Ctx>::current());
    };
    for (row_walk walk(piece.bytes / sizeof(T), mine); walk.row < piece.rows; walk.next()) {
        const std::uint64_t at = piece.first + walk.word * sizeof(T);
        std::uint64_t source = 0, target = 0;
        const status found = rows.find(ctx, piece.row + walk.row, source, target);
        if (found != status::ok) return found;
        const T value = watched(t.from(), t.from_pe(), source * t.from_pitch() + at)[0];
        watched(t.to(), t.to_pe(), target * t.to_pitch() + at)[0] = value;
    }
    return status::ok;
}

/// Moves this lane's share of a piece. Fails where an index names no row.
template <class Ctx>
LANEWAY_SLOW status move_piece(Ctx& ctx, const transfer& t, const transfer_piece& piece, copy_share mine) {
    const transfer_rows<Ctx> rows(ctx, t);
    if constexpr (checks_accesses<Ctx>) {
        // All begins and lengths are multiples of an element's size.
        switch (t.element_bytes() % 8) {
            case 0: return move_watched<std::uint64_t>(ctx, t, rows, piece, mine);
            case 4: return move_watched<std::uint32_t>(ctx, t, rows, piece, mine);
            case 2:
            case 6: return move_watched<std::uint16_t>(ctx, t, rows, piece, mine);
            default: return move_watched<std::uint8_t>(ctx, t, rows, piece, mine);
        }
    }
    const std::uint64_t alignment = rows.alignment(piece);
    // With a word for each lane in a row, several loads are on their way at once, and no division is due.
    if (alignment >= 4 && piece.bytes >= alignment * mine.step) {
        for (std::uint64_t i = 0; i < piece.rows; ++i) {
            std::uint64_t source = 0, target = 0;
            const status found = rows.find(ctx, piece.row + i, source, target);
            if (found != status::ok) return found;
            remote_copy::store(rows.to(target) + piece.first, rows.from(source) + piece.first, piece.bytes, mine);
        }
        return status::ok;
    }
    switch (alignment) {
        case 16: return move_words<16>(ctx, rows, piece, mine);
        case 8: return move_words<8>(ctx, rows, piece, mine);
        case 4: return move_words<4>(ctx, rows, piece, mine);
        case 2: return move_words<2>(ctx, rows, piece, mine);
        default: return move_words<1>(ctx, rows, piece, mine);
    }
}

}  // namespace laneway
