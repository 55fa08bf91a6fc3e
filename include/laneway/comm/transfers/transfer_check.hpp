// What is known to be wrong with a transfer when it is posted.
#pragma once

#include "laneway/comm/transfers/transfer.hpp"

namespace laneway {

/// Checks one side: `rows` rows, `pitch` bytes apart, from `first` on. bad_address with the first element that the
/// array does not have, bad_pitch. Any lane.
template <class Ctx>
LANEWAY_FN status check_rows(Ctx& ctx, const transfer& t, symmetric_ptr<std::byte> first, int pe, std::uint64_t rows,
                             std::uint64_t pitch) {
    if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, operation::transfer, pe);
    if (rows > 1 && pitch < t.row_bytes()) {
        return fail(ctx, status::bad_pitch, operation::transfer, pe, pitch, t.row_bytes());
    }
    const auto& env = ctx.environment();
    const std::uint64_t held = first.segment < env.n_segments ? env.segment_bytes[first.segment] : 0;
    const std::uint64_t left = first.index < held ? held - first.index : 0;
    // Whole rows that there is room for, one pitch after the other. Most transfers have one, and need no division.
    const std::uint64_t fit = t.row_bytes() > left      ? 0
                              : rows <= 1 || pitch == 0 ? rows
                                                        : (left - t.row_bytes()) / pitch + 1;
    if (rows <= fit) return status::ok;
    // The first element that is missing: of the first row that does not fit.
    const std::uint64_t start = first.index + fit * pitch;
    const std::uint64_t missing = start < held ? held : start;
    return fail(ctx, status::bad_address, operation::transfer, pe, missing / t.element_bytes(),
                held / t.element_bytes());
}

/// Whether rows of the source and of the target lie in the same memory; then how far apart they begin. Answered where
/// pitches are equal. Any lane.
LANEWAY_FN bool rows_meet(const transfer& t, std::uint64_t& apart) {
    if (t.form() != transfer::shape::rows || t.rows() == 0 || t.from_pe() != t.to_pe()) return false;
    if (t.from().segment != t.to().segment || (t.rows() > 1 && t.from_pitch() != t.to_pitch())) return false;
    const std::uint64_t from = t.from().index, to = t.to().index;
    apart = from < to ? to - from : from - to;
    if (t.rows() == 1) return apart < t.row_bytes();
    // A row meets the one that begins at or before it, so many rows on, or the next.
    const std::uint64_t before = apart / t.from_pitch(), behind = apart % t.from_pitch();
    const bool meets_first = before < t.rows() && behind < t.row_bytes();
    apart = meets_first ? behind : t.from_pitch() - behind;
    return meets_first || (before + 1 < t.rows() && apart < t.row_bytes());
}

/// bad_pe, bad_address, bad_pitch, and bad_index for a key. Rows that are named by an index are looked at when they
/// are moved. A transfer of no rows names no memory. Any lane.
template <class Ctx>
LANEWAY_SLOW status check_transfer(Ctx& ctx, const transfer& t, std::uint32_t keys) {
    using shape = transfer::shape;
    const std::uint64_t of_source = t.form() == shape::gather && t.rows() > 0 ? 1 : t.rows();
    const std::uint64_t of_target = t.form() == shape::scatter && t.rows() > 0 ? 1 : t.rows();
    status found = check_rows(ctx, t, t.from(), t.from_pe(), of_source, t.from_pitch());
    if (found == status::ok) found = check_rows(ctx, t, t.to(), t.to_pe(), of_target, t.to_pitch());
    if (found != status::ok) return found;
    if (std::uint64_t apart = 0; rows_meet(t, apart)) {
        return fail(ctx, status::bad_pitch, operation::transfer, t.to_pe(), apart, t.row_bytes());
    }
    if (t.form() != shape::rows && t.rows() > 0 && !exists(ctx, t.indices(), t.rows())) {
        return refuse_address(ctx, operation::transfer, ctx.pe(), t.indices());
    }
    if (t.notifies() && !exists(ctx, t.word())) return refuse_address(ctx, operation::transfer, t.to_pe(), t.word());
    if (t.key() != transfer::no_key && t.key() >= keys) {
        return fail(ctx, status::bad_index, operation::use_key, -1, t.key(), keys);
    }
    return status::ok;
}

}  // namespace laneway
