// All-to-all with a count for each pair: directly, or round a ring.
#include <algorithm>
#include <functional>

#include "flow/group_member.hpp"
#include "laneway/base/error.hpp"
#include "laneway/flow/group.hpp"

namespace laneway::flow {

namespace {

using kind = transfer_step::kind;
using link_of = std::function<const link&(std::size_t from, std::size_t to)>;

/// How much goes from whom to whom, and where it lies.
class exchange_table {
public:
    explicit exchange_table(const std::vector<std::vector<std::uint64_t>>& counts) : counts_(counts) {}

    [[nodiscard]] std::size_t size() const { return counts_.size(); }
    [[nodiscard]] std::uint64_t count(std::size_t from, std::size_t to) const { return counts_[from][to]; }
    /// Where in the sender's source it begins, and where in the receiver's target.
    [[nodiscard]] std::uint64_t source_place(std::size_t from, std::size_t to) const {
        std::uint64_t before = 0;
        for (std::size_t j = 0; j < to; ++j) before += counts_[from][j];
        return before;
    }
    [[nodiscard]] std::uint64_t target_place(std::size_t from, std::size_t to) const {
        std::uint64_t before = 0;
        for (std::size_t i = 0; i < from; ++i) before += counts_[i][to];
        return before;
    }

    /// The member `distance` before `me` in the ring, and the one behind.
    [[nodiscard]] std::size_t before(std::size_t me, std::size_t distance) const {
        return (me + size() - distance) % size();
    }
    [[nodiscard]] std::size_t behind(std::size_t me, std::size_t distance) const { return (me + distance) % size(); }

    /// Of what `me` gets in a round of the ring and passes on: that for members nearer to its origin than `distance`.
    [[nodiscard]] std::uint64_t passed_before(std::size_t me, std::size_t round, std::size_t distance) const {
        std::uint64_t passed = 0;
        const std::size_t origin = before(me, round);
        for (std::size_t k = round + 1; k < distance; ++k) passed += counts_[origin][behind(origin, k)];
        return passed;
    }
    /// The most of that in a round.
    [[nodiscard]] std::uint64_t max_passed(std::size_t me) const {
        std::uint64_t most = 0;
        for (std::size_t round = 1; round < size(); ++round) most = std::max(most, passed_before(me, round, size()));
        return most;
    }

private:
    const std::vector<std::vector<std::uint64_t>>& counts_;
};

/// One member's part: its source, its target, and what it passes on, in two halves of a memory: in a ring each sends
/// what it got in the round before, so rounds take turns in them.
struct member_exchange {
    const exchange_table& table;
    const link_of& over;
    std::size_t me;
    std::uint64_t half;
    member_run sending, taking, passing;

    void send(member_run& run, std::size_t to, std::uint64_t first, std::uint64_t count) {
        if (count > 0) run.send(over(me, to), {kind::send, to, first, count});
    }
    void receive(member_run& run, std::size_t from, std::uint64_t first, std::uint64_t count) {
        if (count == 0) return;
        run.receive(over(from, me), {kind::receive, from, first, count},
                    [&](std::byte* into, const pending_segment& packet) {
                        run.stream.copy(into, packet.as<std::byte>(), packet.bytes());
                    });
    }

    [[nodiscard]] std::uint64_t passing_place(std::size_t round, std::size_t distance) const {
        return round % 2 * half + table.passed_before(me, round, distance);
    }

    void keep_own() {
        const std::size_t bytes = sending.element_bytes;
        taking.stream.copy(taking.buffer + table.target_place(me, me) * bytes,
                           sending.buffer + table.source_place(me, me) * bytes, table.count(me, me) * bytes);
    }

    void direct() {
        for (std::size_t distance = 1; distance < table.size(); ++distance) {  // no two send to one at the same time
            const std::size_t to = table.behind(me, distance);
            send(sending, to, table.source_place(me, to), table.count(me, to));
        }
        for (std::size_t distance = 1; distance < table.size(); ++distance) {
            const std::size_t from = table.before(me, distance);
            receive(taking, from, table.target_place(from, me), table.count(from, me));
        }
    }

    /// In a round each sends on what came in the one before, first what it had itself, in the order of distances from
    /// its origin: so the receiver's own comes first.
    void ring() {
        for (std::size_t round = 1; round < table.size(); ++round) {
            const std::size_t next = table.behind(me, 1), sent = table.before(me, round - 1);
            for (std::size_t distance = round; distance < table.size(); ++distance) {
                const std::size_t to = table.behind(sent, distance);
                if (round == 1) {
                    send(sending, next, table.source_place(me, to), table.count(me, to));
                } else {
                    send(passing, next, passing_place(round - 1, distance), table.count(sent, to));
                }
            }
            const std::size_t previous = table.before(me, 1), from = table.before(me, round);
            receive(taking, previous, table.target_place(from, me), table.count(from, me));
            for (std::size_t distance = round + 1; distance < table.size(); ++distance) {
                receive(passing, previous, passing_place(round, distance),
                        table.count(from, table.behind(from, distance)));
            }
        }
    }
};

}  // namespace

void group::check_exchange(const std::vector<const void*>& from, const std::vector<void*>& to,
                           const std::vector<std::vector<std::uint64_t>>& counts, shape how) const {
    const std::size_t n = size();
    if (how == shape::tree) throw usage_error("all_to_all has the shapes direct and ring, not tree");
    check_buffers(from.size());
    check_buffers(to.size());
    const bool square = counts.size() == n &&
                        std::all_of(counts.begin(), counts.end(), [n](const auto& row) { return row.size() == n; });
    if (!square) throw usage_error("all_to_all takes a count for each pair of " + std::to_string(n) + " members");
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            check_buffer(i, from[i], counts[i][j]);
            check_buffer(j, to[j], counts[i][j]);
        }
    }
}

namespace {

/// Of a member among several: what it sends is read while it receives.
void check_apart(std::size_t member, const void* from, std::uint64_t sent, const void* to, std::uint64_t taken) {
    const auto source = reinterpret_cast<std::uintptr_t>(from), target = reinterpret_cast<std::uintptr_t>(to);
    if (sent == 0 || taken == 0 || source >= target + taken || target >= source + sent) return;
    throw usage_error("all_to_all: what member " + std::to_string(member) + " sends and receives overlaps in memory");
}

}  // namespace

void group::exchange(const std::vector<const void*>& from, const std::vector<void*>& to,
                     const std::vector<std::vector<std::uint64_t>>& counts, std::size_t element_bytes, shape how) {
    check_exchange(from, to, counts, how);
    for (std::size_t i = 0; size() > 1 && i < size(); ++i) {
        std::uint64_t sent = 0, taken = 0;
        for (std::size_t j = 0; j < size(); ++j) sent += counts[i][j], taken += counts[j][i];
        check_apart(i, from[i], sent * element_bytes, to[i], taken * element_bytes);
    }
    const exchange_table table(counts);
    std::vector<std::shared_ptr<std::byte>> passed(size());
    for (std::size_t i = 0; i < size(); ++i) {
        if (how == shape::ring && size() > 1) (void)link_between(i, table.behind(i, 1));
        if (const auto most = table.max_passed(i); how == shape::ring && most > 0) {
            passed[i] = context_.allocate<std::byte>(members_[i], 2 * most * element_bytes);
        }
        for (std::size_t j = 0; how == shape::direct && j < size(); ++j) {
            if (i != j && counts[i][j] > 0) (void)link_between(i, j);
        }
    }
    const link_of over = [this](std::size_t a, std::size_t b) -> const link& { return link_between(a, b); };
    start([&](std::size_t me, device_stream& stream) {
        const auto run = [&](const void* buffer) {
            return member_run{
                context_, stream, const_cast<std::byte*>(static_cast<const std::byte*>(buffer)), element_bytes, {}};
        };
        member_exchange mine{table, over, me, table.max_passed(me), run(from[me]), run(to[me]), run(passed[me].get())};
        mine.keep_own();
        how == shape::ring ? mine.ring() : mine.direct();
        mine.sending.finish();
        mine.passing.finish();
    });
}

}  // namespace laneway::flow
