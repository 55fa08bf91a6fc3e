// Arcs on their way from a file into a CSR: fixed blocks, so that growing never copies and sorting frees as it goes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace laneway::graph {

class arc_buffer {
public:
    /// Whether the arcs keep their weight; to be called before the first.
    void keep_weights(bool keep) { weighted_ = keep; }

    void push(std::uint64_t tail, std::uint64_t head, std::uint32_t weight) {
        if (left_ == 0 || (tail | head) > largest_id_) [[unlikely]]
            open_block(tail | head);
        cursor_ = put(cursor_, tail);
        cursor_ = put(cursor_, head);
        if (weighted_) *cursor_++ = weight;
        --left_;
        ++size_;
    }

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool weighted() const { return weighted_; }

    /// Calls f(tail, head, weight) for every arc in order.
    template <class F>
    void for_each(F f) {
        close_block();
        for (const block& b : blocks_) visit(b, f);
    }

    /// Like for_each, but frees each block once it was visited.
    template <class F>
    void consume(F f) {
        close_block();
        for (block& b : blocks_) {
            visit(b, f);
            b.words.reset();
        }
        blocks_.clear();
        size_ = 0;
    }

    /// Replaces every id by f(id), which must fit in 32 bits if the id did.
    template <class F>
    void map_ids(F f) {
        arc_buffer mapped;
        mapped.weighted_ = weighted_;
        consume([&](std::uint64_t tail, std::uint64_t head, std::uint32_t weight) {
            mapped.push(f(tail), f(head), weight);
        });
        *this = std::move(mapped);
    }

    /// Replaces every weight by f(weight).
    template <class F>
    void map_weights(F f) {
        close_block();
        for (block& b : blocks_) {
            if (!b.weighted) continue;
            const std::size_t stride = b.stride();
            for (std::size_t i = 1; i <= b.arcs; ++i) b.words[i * stride - 1] = f(b.words[i * stride - 1]);
        }
    }

private:
    static constexpr std::size_t block_arcs = 64 * 1024;

    // Arcs one after the other: tail, head and, where weighted, weight, in words of 32 bits; ids take two where wide.
    struct block {
        std::unique_ptr<std::uint32_t[]> words;
        std::size_t arcs = 0;
        bool wide = false;
        bool weighted = false;

        [[nodiscard]] std::size_t stride() const { return (wide ? 4u : 2u) + (weighted ? 1u : 0u); }
    };

    std::uint32_t* put(std::uint32_t* to, std::uint64_t id) const {
        *to++ = static_cast<std::uint32_t>(id);
        if (wide_) *to++ = static_cast<std::uint32_t>(id >> 32);
        return to;
    }

    template <class F>
    static void visit(const block& b, F& f) {
        const std::uint32_t* word = b.words.get();
        const std::size_t stride = b.stride();
        for (std::size_t i = 0; i < b.arcs; ++i, word += stride) {
            const std::uint32_t weight = b.weighted ? word[stride - 1] : 1;
            if (b.wide) {
                f(word[0] | std::uint64_t{word[1]} << 32, word[2] | std::uint64_t{word[3]} << 32, weight);
            } else {
                f(std::uint64_t{word[0]}, std::uint64_t{word[1]}, weight);
            }
        }
    }

    void close_block() {
        if (!blocks_.empty()) blocks_.back().arcs -= left_;
        left_ = 0;
    }

    void open_block(std::uint64_t ids) {
        close_block();
        wide_ = wide_ || ids > std::numeric_limits<std::uint32_t>::max();
        largest_id_ = wide_ ? std::numeric_limits<std::uint64_t>::max() : std::numeric_limits<std::uint32_t>::max();
        block next{nullptr, block_arcs, wide_, weighted_};
        next.words.reset(new std::uint32_t[block_arcs * next.stride()]);
        cursor_ = next.words.get();
        left_ = block_arcs;
        blocks_.push_back(std::move(next));
    }

    std::vector<block> blocks_;
    std::uint32_t* cursor_ = nullptr;
    std::size_t left_ = 0;
    std::uint64_t largest_id_ = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t size_ = 0;
    bool wide_ = false;
    bool weighted_ = false;
};

}  // namespace laneway::graph
