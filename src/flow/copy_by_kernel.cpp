// Compiled for GPUs as well where there is CUDA.
#include <algorithm>

#include "flow/context_core.hpp"
#include "flow/packet_copy.hpp"

namespace laneway::flow {

namespace {

/// Calls `run(word)` for the widest word, up to 16 bytes, that divides all that `all` is made of.
template <class Run>
void with_widest_word(std::uint64_t all, Run&& run) {
    switch (all & (~all + 1)) {
        case 1: return run(std::integral_constant<std::size_t, 1>{});
        case 2: return run(std::integral_constant<std::size_t, 2>{});
        case 4: return run(std::integral_constant<std::size_t, 4>{});
        case 8: return run(std::integral_constant<std::size_t, 8>{});
        default: return run(std::integral_constant<std::size_t, 16>{});
    }
}

std::uint64_t bits_of(const copy_ends& ends) {
    return 16 | reinterpret_cast<std::uintptr_t>(ends.packed) | reinterpret_cast<std::uintptr_t>(ends.memory);
}

/// The lanes that a copy has work for, as blocks of the grid; no more than suit the device.
int blocks_for(const device_stream& stream, std::uint64_t words) {
    constexpr std::uint64_t words_of_block = 4096;
    const std::uint64_t useful = std::max<std::uint64_t>((words + words_of_block - 1) / words_of_block, 1);
    const std::uint64_t per_block = std::max<std::uint64_t>(stream.warps(1), 1);
    return static_cast<int>(std::min(useful, stream.warps() / per_block));
}

void copy_rows_by_kernel(device_stream& stream, const packet_copy& what, std::uint64_t row_bytes,
                         const std::vector<stride>& levels) {
    std::uint64_t bits = bits_of(what.ends) | what.begin | what.bytes | row_bytes;
    for (const stride& each : levels) bits |= static_cast<std::uint64_t>(each.bytes);
    with_widest_word(bits, [&](auto word) {
        copy_strided<decltype(word)::value> body;
        body.ends = what.ends;
        body.begin = what.begin;
        body.words = what.bytes / decltype(word)::value;
        body.row_bytes = row_bytes;
        body.levels = static_cast<int>(levels.size());
        std::copy(levels.begin(), levels.end(), body.level);
        stream.run(body, blocks_for(stream, body.words));
    });
}

/// Of one table: pieces from `first` on, up to `end` bytes behind the packet's first one. Returns the next piece.
std::size_t copy_pieces_by_kernel(device_stream& stream, const packet_copy& what, std::size_t first,
                                  const run_table& table) {
    const layout& where = *what.where;
    const std::uint64_t last = what.begin + what.bytes, from = std::max(where.runs()[first].packed, what.begin);
    copy_ends ends = what.ends;
    ends.packed += from - what.begin;
    std::uint64_t bits = bits_of(ends), end = from;
    std::size_t n = 0, next = first;
    for (; n < run_table::runs && next < where.runs().size() && where.runs()[next].packed < last; ++n, ++next) {
        const layout_run& run = where.runs()[next];
        const std::uint64_t cut = run.packed < from ? from - run.packed : 0;  // of a piece that an earlier packet began
        layout_run& kept = table.host.get()[n];
        kept = {run.packed + cut - from, run.offset + static_cast<std::int64_t>(cut)};
        end = std::min(where.end_of(next), last);
        bits |= kept.packed | static_cast<std::uint64_t>(kept.offset);
    }
    bits |= end - from;
    stream.copy(table.device.get(), table.host.get(), n * sizeof(layout_run));
    with_widest_word(bits, [&](auto word) {
        copy_scattered<decltype(word)::value> body;
        body.ends = ends;
        body.runs = table.device.get();
        body.n_runs = n;
        body.words = (end - from) / decltype(word)::value;
        stream.run(body, blocks_for(stream, body.words));
    });
    return next;
}

}  // namespace

std::vector<std::shared_ptr<void>> copy_by_kernel(context_core& context, int device, device_stream& stream,
                                                  const packet_copy& what) {
    std::vector<std::shared_ptr<void>> used;
    if (what.bytes == 0) return used;
    if (!what.where) {
        packet_copy all = what;
        all.ends.memory += what.begin;
        all.begin = 0;
        copy_rows_by_kernel(stream, all, what.bytes, {});
    } else if (!what.where->is_scattered()) {
        copy_rows_by_kernel(stream, what, what.where->row_bytes(), what.where->levels());
    } else {
        std::size_t next = what.where->run_with(what.begin);
        const std::size_t end = what.where->run_with(what.begin + what.bytes - 1) + 1;
        std::vector<std::shared_ptr<run_table>> tables;
        // All before any is used: where one is not to be had, nothing is under way that reads the others.
        for (std::size_t i = next; i < end; i += run_table::runs) tables.push_back(context.take_run_table(device));
        for (const auto& table : tables) next = copy_pieces_by_kernel(stream, what, next, *table);
        used.assign(tables.begin(), tables.end());
    }
    return used;
}

}  // namespace laneway::flow
