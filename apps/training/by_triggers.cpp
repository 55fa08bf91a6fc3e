// Triggered: what becomes of a layer's gradient is prepared once. The copies of a PE's rows to an owner go off when the
// last piece of its share has been written; what has come is added up in the order of the tree; the sum is added to the
// weights, and these are copied to all PEs. No lane has anything to do with it but those that carry it out.
#include "laneway/run/triggers.hpp"
#include "training/network.hpp"

namespace laneway::apps {

namespace {

/// Numbers of the tags of a PE. There are two sets of weights, and so two of all operations.
struct reduction_tags {
    int n_layers = 0;
    int n_rows = 0;
    int n_pes = 1;

    explicit reduction_tags(const network_shape& shape)
        : n_layers(shape.n_layers), n_rows(shape.n_rows), n_pes(shape.n_pes) {}

    /// A row of this PE's is written, as far as `owner` owns the layer.
    [[nodiscard]] LANEWAY_FN std::uint32_t written(std::uint32_t step, int layer, int owner, int row) const {
        return number(step % 2, layer, owner * n_rows + row);
    }
    /// Two sums of the tree are here: `join` of the rows minus one.
    [[nodiscard]] LANEWAY_FN std::uint32_t add(std::uint32_t step, int layer, int join) const {
        return number(step % 2, layer, n_pes * n_rows + join);
    }
    /// The whole sum is here.
    [[nodiscard]] LANEWAY_FN std::uint32_t update(std::uint32_t step, int layer) const {
        return add(step, layer, n_rows - 1);
    }
    /// The new weights are here, for a PE to get them.
    [[nodiscard]] LANEWAY_FN std::uint32_t give(std::uint32_t step, int layer, int pe) const {
        return update(step, layer) + 1 + static_cast<std::uint32_t>(pe);
    }
    [[nodiscard]] std::uint32_t count() const { return number(2, 0, 0); }

private:
    [[nodiscard]] LANEWAY_FN std::uint32_t number(std::uint32_t set, int layer, int operation) const {
        const int of_layer = n_pes * n_rows + n_rows + n_pes;
        return set * static_cast<std::uint32_t>(n_layers * of_layer) +
               static_cast<std::uint32_t>(layer * of_layer + operation);
    }
};

struct train_with_triggers {
    network_ref all;
    reduction_tags tags;
    std::uint32_t steps;

    template <class Ctx, class Triggers, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Collectives& together) const {
        computing_time spent;
        bool going = true;
        for (std::uint32_t step = 0; step < steps && going; ++step) {
            going = all.forward(ctx, triggers, step, spent) && backward(ctx, triggers, together, step, spent);
        }
        all.add(ctx, spent);
    }

private:
    template <class Ctx, class Triggers, class Collectives>
    LANEWAY_FN bool backward(Ctx& ctx, Triggers& triggers, Collectives& together, std::uint32_t step,
                             computing_time& spent) const {
        const auto net = all.view(ctx, step);
        const auto mine = working_warp::of(ctx);
        for (int layer = all.shape.n_layers - 1; layer >= 0; --layer) {
            if (!all_go_on(ctx, together.barrier(ctx))) return false;  // deltas of all samples are there
            for (std::uint64_t p = mine.number; p < all.shape.layers[layer].pieces(); p += mine.warps) {
                spent.of(ctx, [&] { net.gradient(ctx, layer, p); });
                const int owner = all.shape.owner_of(layer, p);
                for (int row = 0; row < all.shape.n_rows; ++row) {
                    if (all.shape.rows[row].pe != ctx.pe()) continue;
                    if (!all_go_on(ctx, triggers.trigger_warp(ctx, tags.written(step, layer, owner, row))))
                        return false;
                }
            }
            if (layer > 0) spent.of(ctx, [&] { net.backward(ctx, mine, layer); });
        }
        return true;
    }
};

/// Prepares what becomes of the gradients of one layer, as far as one PE owns it, from one set of weights to the other.
class layer_reduction {
public:
    layer_reduction(triggers& prepared, const network_ref& all, std::uint32_t step, int layer, int owner)
        : prepared_(prepared), all_(all), tags_(all.shape), step_(step), layer_(layer), owner_(owner),
          first_(all.shape.layers[layer].piece_begin(all.shape.first_piece(layer, owner))),
          count_(all.shape.layers[layer].piece_begin(all.shape.first_piece(layer, owner + 1)) - first_) {}

    void prepare() {
        if (count_ == 0) return;
        reduce();
        update();
    }

private:
    /// A sum in the tree: in which row it lies, and the operation that makes it.
    struct sum {
        int row;
        int level;
        int pe;
        std::uint32_t tag;
        std::uint32_t threshold;
        trigger_operation made_by;
    };

    /// Rows from left to right; of two sums that are siblings the right one is added to the left one's row.
    void reduce() {
        std::vector<sum> open;
        int joins = 0;
        for (int row = 0; row < all_.shape.n_rows; ++row) {
            open.push_back(arrival_of(row));
            while (open.size() > 1 && open[open.size() - 2].level == open.back().level) {
                const sum right = open.back(), left = open[open.size() - 2];
                open.resize(open.size() - 2);
                const std::uint32_t tag = tags_.add(step_, layer_, joins++);
                prepare_then(left, tag);
                prepare_then(right, tag);
                open.push_back({left.row, left.level + 1, owner_, tag, 2, add_rows(right.row, left.row)});
            }
        }
        prepare_then(open.front(), tags_.update(step_, layer_));
    }
    /// A row comes when its PE has written all pieces.
    [[nodiscard]] sum arrival_of(int row) const {
        const shard_subtree& tree = all_.shape.rows[row];
        const auto pieces = static_cast<std::uint32_t>(all_.shape.pieces_of(layer_, owner_));
        const auto at = row_begin(row);
        const auto copied = tree.pe == owner_ ? trigger_operation::nothing(owner_)
                                              : trigger_operation::put(all_.rows, at, count_, all_.rows, at, owner_);
        return {row, tree.level, tree.pe, tags_.written(step_, layer_, owner_, row), pieces, copied};
    }
    void prepare_then(const sum& made, std::uint32_t next) const {
        prepared_.prepare(made.pe, made.tag, made.threshold, made.made_by.then(owner_, next), firing::each_round);
    }
    [[nodiscard]] trigger_operation add_rows(int from, int to) const {
        return trigger_operation::combine<memory_op::add>(all_.rows, row_begin(from), count_, all_.rows, row_begin(to),
                                                          owner_);
    }

    /// Adds the old weights to the sum, and copies it to all PEs, down a tree of operations.
    void update() const {
        const auto add_old = trigger_operation::combine<memory_op::add>(all_.weights[step_ % 2], first_, count_,
                                                                        all_.rows, row_begin(0), owner_);
        prepared_.prepare(owner_, tags_.update(step_, layer_), 1, add_old.then(owner_, tags_.give(step_, layer_, 0)),
                          firing::each_round);
        const std::uint64_t pieces = all_.shape.pieces_of(layer_, owner_);
        for (int pe = 0; pe < all_.shape.n_pes; ++pe) {
            auto copied =
                trigger_operation::put(all_.rows, row_begin(0), count_, all_.weights[(step_ + 1) % 2], first_, pe)
                    .signal(all_.updated[static_cast<unsigned>(layer_)], pieces);
            for (int next = 2 * pe + 1; next <= 2 * pe + 2 && next < all_.shape.n_pes; ++next) {
                copied = copied.then(owner_, tags_.give(step_, layer_, next));
            }
            prepared_.prepare(owner_, tags_.give(step_, layer_, pe), 1, copied, firing::each_round);
        }
    }

    [[nodiscard]] std::uint64_t row_begin(int row) const { return all_.in_row(row, first_); }

    triggers& prepared_;
    const network_ref& all_;
    reduction_tags tags_;
    std::uint32_t step_;
    int layer_;
    int owner_;
    std::uint64_t first_;  ///< weight
    std::uint64_t count_;
};

}  // namespace

double train_by_triggers(runtime& rt, const network& net, std::uint32_t steps) {
    const network_ref all = net.ref();
    const reduction_tags tags(all.shape);
    // Of other PEs each may send a row of each layer.
    const auto chains = static_cast<std::uint32_t>(2 * all.shape.n_layers * all.shape.n_rows);
    auto prepared = rt.triggers({.tags = tags.count(), .chains = chains});
    for (std::uint32_t step = 0; step < 2; ++step) {
        for (int layer = 0; layer < all.shape.n_layers; ++layer) {
            for (int owner = 0; owner < rt.n_pes(); ++owner) {
                layer_reduction(prepared, all, step, layer, owner).prepare();
            }
        }
    }
    auto together = rt.collectives();
    return rt.run(train_with_triggers{all, tags, steps}, prepared, together).run_seconds;
}

}  // namespace laneway::apps
