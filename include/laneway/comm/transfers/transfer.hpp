// What a transfer moves: rows of bytes from a symmetric array of one PE to one of another PE, and who is told when they
// are there. Built by a lane, and kept by value.
#pragma once

#include "laneway/memory/symmetric.hpp"

namespace laneway {

/// How a transfer is carried out.
enum class transfer_method : std::uint32_t {
    automatic,  ///< by size, alignment and stride
    lanes,      ///< a lane of a warp each
    warps,      ///< lanes of warps together, in words as wide as both sides are aligned to
    bulk,       ///< the bulk-copy hardware of a multiprocessor (TMA), through shared memory; by memcpy on CPU devices
    engine      ///< a copy engine, which a thread of the host drives
};
inline constexpr std::size_t n_transfer_methods = 5;

/// A lane's handle of a transfer that it has posted, for any lane of its PE: what transfers_agent::test and wait take.
struct transfer_event {
    std::uint32_t slot = ~0u;
    std::uint32_t lap = 0;  ///< of the slot's use
};

/// Copies `rows` rows of elements. `from` lies on PE `from_pe`, `to` on `to_pe`, which may be any.
///
///   lw::transfer::copy(edge[0], ctx.pe(), ghost[64], right, 64).notify(arrived[0])
///
/// Elements are of any trivially copyable type. Checked when it is posted. What is moved must stay as it is until then,
/// and must not overlap where it goes to.
class transfer {
public:
    static constexpr std::uint32_t no_key = ~0u;
    enum class shape : std::uint32_t { rows, gather, scatter };

    transfer() = default;

    /// `count` elements.
    template <class T>
    [[nodiscard]] static LANEWAY_FN transfer copy(symmetric_ptr<T> from, int from_pe, symmetric_ptr<T> to, int to_pe,
                                                  std::uint64_t count) {
        return make(from, from_pe, count, to, to_pe, count, 1, count);
    }
    /// `rows` rows of `row` elements, which begin `from_pitch` elements apart, and `to_pitch` where they go to.
    template <class T>
    [[nodiscard]] static LANEWAY_FN transfer strided(symmetric_ptr<T> from, int from_pe, std::uint64_t from_pitch,
                                                     symmetric_ptr<T> to, int to_pe, std::uint64_t to_pitch,
                                                     std::uint64_t rows, std::uint64_t row) {
        return make(from, from_pe, from_pitch, to, to_pe, to_pitch, rows, row);
    }
    /// Row i of `to` becomes row indices[i] of `from`, for `rows` rows of `row` elements, one behind the other.
    /// `indices`: of the PE that posts it.
    template <class T>
    [[nodiscard]] static LANEWAY_FN transfer gather(symmetric_ptr<T> from, int from_pe,
                                                    symmetric_ptr<std::uint32_t> indices, symmetric_ptr<T> to,
                                                    int to_pe, std::uint64_t rows, std::uint64_t row = 1) {
        return make(from, from_pe, row, to, to_pe, row, rows, row).by(shape::gather, indices);
    }
    /// Row indices[i] of `to` becomes row i of `from`. No index stands in the list twice.
    template <class T>
    [[nodiscard]] static LANEWAY_FN transfer scatter(symmetric_ptr<T> from, int from_pe,
                                                     symmetric_ptr<std::uint32_t> indices, symmetric_ptr<T> to,
                                                     int to_pe, std::uint64_t rows, std::uint64_t row = 1) {
        return make(from, from_pe, row, to, to_pe, row, rows, row).by(shape::scatter, indices);
    }

    /// When all of it is there, adds `value` to a word of the PE that it goes to: who sees that (by an acquire load)
    /// sees the data.
    [[nodiscard]] LANEWAY_FN transfer notify(symmetric_ptr<std::uint64_t> word, std::uint64_t value = 1) const {
        transfer made = *this;
        made.word_ = word;
        made.notifies_ = 1;
        made.value_ = value;
        return made;
    }
    /// Counts under a key of the PE that posts it, whose transfers may be waited for together.
    [[nodiscard]] LANEWAY_FN transfer under(std::uint32_t key) const {
        transfer made = *this;
        made.key_ = key;
        return made;
    }

    /// The same in one row, where rows lie one behind the other on both sides.
    [[nodiscard]] LANEWAY_FN transfer joined() const {
        transfer made = *this;
        if (form_ == shape::rows && rows_ > 1 && from_pitch_ == row_bytes_ && to_pitch_ == row_bytes_) {
            made.row_bytes_ = bytes();
            made.rows_ = 1;
        }
        return made;
    }

    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::byte> from() const { return from_; }
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::byte> to() const { return to_; }
    [[nodiscard]] LANEWAY_FN int from_pe() const { return from_pe_; }
    [[nodiscard]] LANEWAY_FN int to_pe() const { return to_pe_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t from_pitch() const { return from_pitch_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t to_pitch() const { return to_pitch_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t rows() const { return rows_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t row_bytes() const { return row_bytes_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t bytes() const { return rows_ * row_bytes_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t element_bytes() const { return element_bytes_; }
    [[nodiscard]] LANEWAY_FN shape form() const { return form_; }
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::uint32_t> indices() const { return indices_; }
    [[nodiscard]] LANEWAY_FN bool notifies() const { return notifies_ != 0; }
    [[nodiscard]] LANEWAY_FN symmetric_ptr<std::uint64_t> word() const { return word_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t value() const { return value_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t key() const { return key_; }

private:
    template <class T>
    static LANEWAY_FN transfer make(symmetric_ptr<T> from, int from_pe, std::uint64_t from_pitch, symmetric_ptr<T> to,
                                    int to_pe, std::uint64_t to_pitch, std::uint64_t rows, std::uint64_t row) {
        static_assert(trivially_copyable<T>);
        transfer made;
        made.from_ = {from.segment, bytes_of<T>(from.index)};
        made.to_ = {to.segment, bytes_of<T>(to.index)};
        made.from_pitch_ = bytes_of<T>(from_pitch);
        made.to_pitch_ = bytes_of<T>(to_pitch);
        made.rows_ = row == 0 ? 0 : rows;
        made.row_bytes_ = bytes_of<T>(row);
        made.from_pe_ = from_pe;
        made.to_pe_ = to_pe;
        made.element_bytes_ = sizeof(T);
        return made;
    }
    /// More than there can be stays more than there can be.
    template <class T>
    static LANEWAY_FN std::uint64_t bytes_of(std::uint64_t elements) {
        constexpr std::uint64_t most = ~std::uint64_t{0} / sizeof(T);
        return (elements < most ? elements : most) * sizeof(T);
    }
    [[nodiscard]] LANEWAY_FN transfer by(shape form, symmetric_ptr<std::uint32_t> indices) const {
        transfer made = *this;
        made.form_ = form;
        made.indices_ = indices;
        return made;
    }

    symmetric_ptr<std::byte> from_;
    symmetric_ptr<std::byte> to_;
    symmetric_ptr<std::uint32_t> indices_;
    symmetric_ptr<std::uint64_t> word_;
    std::uint64_t from_pitch_ = 0;  ///< bytes, as those below
    std::uint64_t to_pitch_ = 0;
    std::uint64_t rows_ = 0;
    std::uint64_t row_bytes_ = 0;
    std::uint64_t value_ = 1;
    std::int32_t from_pe_ = -1;
    std::int32_t to_pe_ = -1;
    std::uint32_t element_bytes_ = 1;
    std::uint32_t key_ = no_key;
    std::uint32_t notifies_ = 0;
    shape form_ = shape::rows;
};

static_assert(trivially_copyable<transfer>);

/// Part of a transfer: bytes `first` to `first + bytes` of the rows `row` to `row + rows`.
struct transfer_piece {
    std::uint64_t row = 0;
    std::uint64_t rows = 0;
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;
};

}  // namespace laneway
