#include "laneway/flow/transfer_schedule.hpp"

#include <algorithm>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::flow {

namespace {

using kind = transfer_step::kind;

class planner {
public:
    explicit planner(std::size_t members) : steps_(members) {}

    /// What one sends and the other gets; nothing for no elements.
    void move(std::size_t from, std::size_t to, std::uint64_t first, std::uint64_t count, kind what) {
        if (count == 0) return;
        steps_[from].push_back({kind::send, to, first, count});
        steps_[to].push_back({what, from, first, count});
    }
    void append(const transfer_schedule& more) {
        for (std::size_t i = 0; i < steps_.size(); ++i)
            steps_[i].insert(steps_[i].end(), more[i].begin(), more[i].end());
    }
    transfer_schedule take() { return std::move(steps_); }

private:
    transfer_schedule steps_;
};

/// Calls `visit(first, count)` for the pieces of a range.
template <class Visit>
void for_pieces(std::uint64_t count, std::uint64_t piece, Visit&& visit) {
    for (std::uint64_t first = 0; first < count; first += piece) visit(first, std::min(piece, count - first));
}

/// The hops of a binomial tree from its root down: `visit(upper, lower, end)`, by ranks; below the hop lie those from
/// `lower` to `end`.
template <class Visit>
void for_hops_down(std::size_t n, Visit&& visit) {
    std::size_t reach = 1;
    while (reach < n) reach *= 2;
    for (std::size_t step = reach / 2; step > 0; step /= 2) {
        for (std::size_t rank = 0; rank + step < n; rank += 2 * step)
            visit(rank, rank + step, std::min(rank + 2 * step, n));
    }
}

/// The same from the leaves up.
template <class Visit>
void for_hops_up(std::size_t n, Visit&& visit) {
    for (std::size_t step = 1; step < n; step *= 2) {
        for (std::size_t rank = 0; rank + step < n; rank += 2 * step)
            visit(rank, rank + step, std::min(rank + 2 * step, n));
    }
}

/// Bounds of the i-th of n equal blocks.
std::uint64_t block_begin(std::uint64_t count, std::size_t n, std::size_t i) {
    return count / n * i + count % n * i / n;
}

/// A ring of blocks: in round r member i sends block i + offset - r to the next, which gets it as `what`.
transfer_schedule ring_of_blocks(std::size_t n, std::size_t offset, std::uint64_t count, kind what) {
    planner plan(n);
    for (std::size_t round = 0; round + 1 < n; ++round) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t block = (i + offset + 2 * n - round) % n, begin = block_begin(count, n, block);
            plan.move(i, (i + 1) % n, begin, block_begin(count, n, block + 1) - begin, what);
        }
    }
    return plan.take();
}

/// Each sends block j of its buffer to member j (`to_owners`), or its own block to all.
transfer_schedule direct_blocks(std::size_t n, std::uint64_t count, bool to_owners) {
    planner plan(n);
    for (std::size_t distance = 1; distance < n; ++distance) {  // no two send to one at the same time
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t to = (i + distance) % n, block = to_owners ? to : i;
            const std::uint64_t begin = block_begin(count, n, block);
            plan.move(i, to, begin, block_begin(count, n, block + 1) - begin,
                      to_owners ? kind::combine : kind::receive);
        }
    }
    return plan.take();
}

/// `blocks` members' blocks from that of member `first` on. In memory they are one range, or two where they go on
/// behind the last member's with the first's.
void move_blocks(planner& plan, std::size_t from, std::size_t to, const transfer_size& size, std::size_t first,
                 std::size_t blocks) {
    const std::size_t until_last = std::min(blocks, size.members - first);
    plan.move(from, to, first * size.count, until_last * size.count, kind::receive);
    plan.move(from, to, 0, (blocks - until_last) * size.count, kind::receive);
}

void require_direct_or_tree(shape how, const std::string& collective) {
    if (how == shape::ring) throw usage_error(collective + " has the shapes direct and tree, not ring");
}

}  // namespace

transfer_schedule plan_broadcast(shape how, const transfer_size& size, std::size_t root) {
    const std::size_t n = size.members;
    const auto member = [&](std::size_t rank) { return (root + rank) % n; };
    planner plan(n);
    if (how == shape::direct) {
        for (std::size_t rank = 1; rank < n; ++rank) plan.move(root, member(rank), 0, size.count, kind::receive);
    } else if (how == shape::ring) {
        for_pieces(size.count, size.piece, [&](std::uint64_t first, std::uint64_t count) {
            for (std::size_t rank = 0; rank + 1 < n; ++rank) {
                plan.move(member(rank), member(rank + 1), first, count, kind::receive);
            }
        });
    } else {
        for_pieces(size.count, size.piece, [&](std::uint64_t first, std::uint64_t count) {
            for_hops_down(n, [&](std::size_t upper, std::size_t lower, std::size_t) {
                plan.move(member(upper), member(lower), first, count, kind::receive);
            });
        });
    }
    return plan.take();
}

transfer_schedule plan_reduce(shape how, const transfer_size& size, std::size_t root) {
    const std::size_t n = size.members;
    const auto member = [&](std::size_t rank) { return (root + rank) % n; };
    planner plan(n);
    if (how == shape::direct) {
        for (std::size_t rank = 1; rank < n; ++rank) plan.move(member(rank), root, 0, size.count, kind::combine);
    } else if (how == shape::ring) {
        for_pieces(size.count, size.piece, [&](std::uint64_t first, std::uint64_t count) {
            for (std::size_t rank = n - 1; rank > 0; --rank) {
                plan.move(member(rank), member(rank - 1), first, count, kind::combine);
            }
        });
    } else {
        for_pieces(size.count, size.piece, [&](std::uint64_t first, std::uint64_t count) {
            for_hops_up(n, [&](std::size_t upper, std::size_t lower, std::size_t) {
                plan.move(member(lower), member(upper), first, count, kind::combine);
            });
        });
    }
    return plan.take();
}

transfer_schedule plan_scatter(shape how, const transfer_size& size, std::size_t root) {
    require_direct_or_tree(how, "scatter");
    const std::size_t n = size.members;
    const auto member = [&](std::size_t rank) { return (root + rank) % n; };
    planner plan(n);
    if (how == shape::direct) {
        for (std::size_t i = 0; i < n; ++i) {
            if (i != root) move_blocks(plan, root, i, size, i, 1);
        }
    } else {
        for_hops_down(n, [&](std::size_t upper, std::size_t lower, std::size_t end) {
            move_blocks(plan, member(upper), member(lower), size, member(lower), end - lower);
        });
    }
    return plan.take();
}

transfer_schedule plan_gather(shape how, const transfer_size& size, std::size_t root) {
    require_direct_or_tree(how, "gather");
    const std::size_t n = size.members;
    const auto member = [&](std::size_t rank) { return (root + rank) % n; };
    planner plan(n);
    if (how == shape::direct) {
        for (std::size_t i = 0; i < n; ++i) {
            if (i != root) move_blocks(plan, i, root, size, i, 1);
        }
    } else {
        for_hops_up(n, [&](std::size_t upper, std::size_t lower, std::size_t end) {
            move_blocks(plan, member(lower), member(upper), size, member(lower), end - lower);
        });
    }
    return plan.take();
}

transfer_schedule plan_all_gather(shape how, const transfer_size& size) {
    const std::size_t n = size.members;
    const std::uint64_t all = size.count * n;
    if (how == shape::direct) return direct_blocks(n, all, false);
    if (how == shape::ring) return ring_of_blocks(n, 0, all, kind::receive);
    planner plan(n);
    plan.append(plan_gather(shape::tree, size, 0));
    plan.append(plan_broadcast(shape::tree, {n, all, size.piece}, 0));
    return plan.take();
}

transfer_schedule plan_reduce_scatter(shape how, const transfer_size& size) {
    const std::size_t n = size.members;
    const std::uint64_t all = size.count * n;
    if (how == shape::direct) return direct_blocks(n, all, true);
    // Block i - 1 sets out from member i, and has all summands when it comes to member i - 1, its owner.
    if (how == shape::ring) return ring_of_blocks(n, n - 1, all, kind::combine);
    planner plan(n);
    plan.append(plan_reduce(shape::tree, {n, all, size.piece}, 0));
    plan.append(plan_scatter(shape::tree, size, 0));
    return plan.take();
}

transfer_schedule plan_all_reduce(shape how, const transfer_size& size) {
    const std::size_t n = size.members;
    planner plan(n);
    if (how == shape::direct) {
        plan.append(direct_blocks(n, size.count, true));
        plan.append(direct_blocks(n, size.count, false));
    } else if (how == shape::ring) {
        plan.append(ring_of_blocks(n, n - 1, size.count, kind::combine));
        plan.append(ring_of_blocks(n, 0, size.count, kind::receive));
    } else {
        plan.append(plan_reduce(shape::tree, size, 0));
        plan.append(plan_broadcast(shape::tree, size, 0));
    }
    return plan.take();
}

}  // namespace laneway::flow
