// Bulk copies from and to memory that remote_ptr names, by lanes, by a GPU's copy hardware, or by a stream of the host.
#pragma once

#include "laneway/memory/move_words.hpp"
#include "laneway/transport/remote_ptr.hpp"

namespace laneway {

/// Where a function takes a copy_share, those lanes that share the copy call it with the same other arguments. Any
/// lane; a copy orders nothing.
class remote_copy {
public:
    /// Between any two PEs: `bytes` is a multiple of 4, as both addresses are.
    static LANEWAY_FN void store(remote_ptr<std::byte> to, remote_ptr<const std::byte> from, std::uint64_t bytes,
                                 copy_share mine) {
        store_range(to.at_, from.at_, bytes, mine);
    }
    /// The same where `become` says what each word makes of that which is there; in words of `Wide` where both sides
    /// allow it.
    template <class Wide, class Word, class Become>
    static LANEWAY_FN void combine(remote_ptr<Word> to, remote_ptr<const Word> from, std::uint64_t count,
                                   copy_share mine, const Become& become) {
        move_wide<Wide>(to.at_, from.at_, count, mine, become);
    }
    /// From memory of the lane, whatever either is aligned to.
    static LANEWAY_FN void put(remote_ptr<std::byte> to, const std::byte* from, std::uint64_t bytes, copy_share mine) {
        copy_bytes(to.at_, from, bytes, mine);
    }
    /// To memory of the lane, the same; several loads are on their way at once where both are aligned to 4 bytes.
    static LANEWAY_FN void get(std::byte* to, remote_ptr<const std::byte> from, std::uint64_t bytes, copy_share mine) {
        const auto alignment = from.address_bits() | reinterpret_cast<std::uintptr_t>(to);
        const std::uint64_t whole = alignment % 4 == 0 ? bytes / 4 * 4 : 0;
        store_range(to, from.at_, whole, mine);
        copy_bytes(to + whole, from.at_ + whole, bytes - whole, mine);
    }
    /// By copy hardware: the next of the copies that Copier (simt/bulk_copy.hpp) has begun.
    template <class Copier, class Ctx, class Staging, class Progress>
    [[nodiscard]] static LANEWAY_FN status by_hardware(Ctx& ctx, Staging& staging, Progress& progress,
                                                       remote_ptr<std::byte> to, remote_ptr<const std::byte> from,
                                                       std::uint64_t bytes) {
        return Copier::copy(ctx, staging, progress, to.at_, from.at_, bytes);
    }
    /// By a stream of the host: rows of `row_bytes`, as far apart as the pitches say. Host.
    template <class Stream, class Rows>
    static void by_stream(Stream& stream, const Rows& rows) {
        if (rows.rows == 1) {  // of any length, which a pitch is not
            stream.copy(rows.to.at_, rows.from.at_, rows.row_bytes);
        } else {
            stream.copy_rows(rows.to.at_, rows.to_pitch, rows.from.at_, rows.from_pitch, rows.row_bytes, rows.rows);
        }
    }
};

}  // namespace laneway
