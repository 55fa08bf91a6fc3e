#include "flow/packet_copy.hpp"

namespace laneway::flow {

copy_size packet_copy::size() const {
    if (!where) return {bytes, 1, 1};
    return {bytes, where->runs_in(begin, bytes), where->calls_for(begin, bytes)};
}

void copy_by_engine(device_stream& stream, const packet_copy& what) {
    if (what.bytes == 0) return;
    if (!what.where) {
        std::byte* const memory = what.ends.memory + what.begin;
        return what.ends.packs ? stream.copy(what.ends.packed, memory, what.bytes)
                               : stream.copy(memory, what.ends.packed, what.bytes);
    }
    stream.copies(what.bytes, [what](stream_backend& by) {
        what.where->for_each_rows(what.begin, what.bytes, [&](const layout_rows& some) {
            std::byte* const packed = what.ends.packed + (some.packed - what.begin);
            std::byte* const memory = what.ends.memory + some.offset;
            const std::size_t row = some.row_bytes;
            if (some.rows == 1) {
                what.ends.packs ? by.copy(packed, memory, row) : by.copy(memory, packed, row);
            } else if (what.ends.packs) {
                by.copy_rows(packed, row, memory, some.pitch, row, some.rows);
            } else {
                by.copy_rows(memory, some.pitch, packed, row, row, some.rows);
            }
        });
    });
}

}  // namespace laneway::flow
