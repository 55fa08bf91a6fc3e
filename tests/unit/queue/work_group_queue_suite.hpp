// The work-group queue: every message reaches the host once and whole, over laps, under all interleavings.
#pragma once

#include <map>

#include "laneway/queue/work_group_queue_memory.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Four words of eight bytes; each tells whose message it is.
struct long_message {
    std::uint64_t words[4];
    LANEWAY_FN static long_message numbered(std::uint64_t id) { return {{id, ~id, id * 3, id << 7 | 5}}; }
    [[nodiscard]] std::uint64_t id() const { return words[0]; }
};

/// Three words of four bytes, the last not full.
struct short_message {
    std::uint16_t parts[5];
    LANEWAY_FN static short_message numbered(std::uint64_t id) {
        const auto low = static_cast<std::uint16_t>(id);
        const auto twice = static_cast<std::uint16_t>(id * 2);
        return {{low, static_cast<std::uint16_t>(~low), twice, low, twice}};
    }
    [[nodiscard]] std::uint64_t id() const { return parts[0]; }
};

enum class pushing { lanes, block, rounds };

/// Every lane sends `each` numbered messages, in ways that leave gaps among the lanes.
template <class Message>
struct push_program {
    static constexpr int cuda_warps = 2;

    work_group_sender<Message> queue;
    pushing way;
    std::uint32_t each;
    std::uint64_t first_id;
    std::uint64_t* pushed;  ///< PE memory

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const int warp = ctx.block() * ctx.n_warps() + ctx.warp();
        const std::uint64_t lane = static_cast<std::uint64_t>(warp * Ctx::warp_lanes + ctx.lane());
        for (std::uint32_t i = 0; i < each; ++i) {
            const std::uint64_t id = first_id + lane * each + i;
            const status done = way == pushing::rounds  ? in_rounds(ctx, id)
                                : way == pushing::block ? together(ctx, id)
                                                        : alone(ctx, id);
            if (done != status::ok) return;
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN status count(Ctx& ctx, status done) const {
        if (done == status::ok) ctx.fetch_add(pushed, 1, order::relaxed, scope::device);
        return done;
    }
    template <class Ctx>
    LANEWAY_FN status alone(Ctx& ctx, std::uint64_t id) const {
        if (id % 3 == 0) return count(ctx, queue.push(ctx, Message::numbered(id)));
        if (id % 3 == 1) return count(ctx, queue.push(ctx, Message::numbered(id)));
        return status::ok;
    }
    template <class Ctx>
    LANEWAY_FN status together(Ctx& ctx, std::uint64_t id) const {
        const bool active = id % 5 != 0;
        auto* board = reinterpret_cast<group_state*>(ctx.shared());
        const status done = queue.push_block(ctx, board, active, Message::numbered(id));
        return active ? count(ctx, done) : done;
    }
    // A warp fills one slot in two rounds: the second brings copies with other numbers.
    template <class Ctx>
    LANEWAY_FN status in_rounds(Ctx& ctx, std::uint64_t id) const {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        column_position place;
        const status reserved = once(ctx, full_warp<Ctx>, [&] { return queue.reserve(ctx, place); });
        if (reserved != status::ok) return reserved;
        const std::uint32_t slot = ctx.shuffle(full_warp<Ctx>, place.slot, 0);
        const auto column = static_cast<std::uint32_t>(ctx.lane());
        queue.write(slot, column, Message::numbered(id));
        queue.write(slot, lanes + column, Message::numbered(id + 8'000));
        queue.publish(ctx, full_warp<Ctx>, place, 2 * lanes);
        ctx.fetch_add(pushed, 2, order::relaxed, scope::device);
        return status::ok;
    }
};

/// Host threads that count what arrives; line i of every PE's queue belongs to thread i.
template <class Message>
class collector : public host_service {
public:
    collector(std::vector<work_group_queue<Message>>& queues, int lines) : queues_(queues), lines_(lines) {}

    [[nodiscard]] int threads() const override { return lines_; }
    void open() override {
        receivers_.clear();
        for (int line = 0; line < lines_; ++line) {
            auto& mine = receivers_.emplace_back();
            for (auto& queue : queues_) mine.push_back(queue.receiver(line));
        }
        arrived.assign(receivers_.size(), {});
        wrong.assign(receivers_.size(), 0);
    }
    bool turn(host_context& ctx, int thread) override {
        bool any = false;
        const auto line = static_cast<std::size_t>(thread);
        for (auto& receiver : receivers_[line]) {
            const auto batch = receiver.peek(ctx);
            if (batch.empty()) continue;
            any = true;
            for (std::uint32_t c = 0; c < batch.size(); ++c) {
                const Message message = batch[c];
                const Message expected = Message::numbered(message.id());
                if (std::memcmp(&message, &expected, sizeof message) != 0) ++wrong[line];
                ++arrived[line][message.id()];
            }
            receiver.release(ctx);
        }
        return any;
    }
    [[nodiscard]] std::string account() const override { return ""; }
    void audit() const override {}

    /// How often each number arrived, all threads.
    [[nodiscard]] std::map<std::uint64_t, int> all() const {
        std::map<std::uint64_t, int> sum;
        for (const auto& part : arrived) {
            for (const auto& [id, count] : part) sum[id] += count;
        }
        return sum;
    }

    std::vector<std::map<std::uint64_t, int>> arrived;  ///< by thread
    std::vector<int> wrong;                             ///< by thread

private:
    std::vector<work_group_queue<Message>>& queues_;
    int lines_;
    std::vector<std::vector<work_group_receiver<Message>>> receivers_;
};

/// All messages of one run through queues with few slots; checks that each arrives once and whole.
template <class Message>
void check_run(const options& o, pushing way, int lines, std::uint32_t slots, std::uint32_t each) {
    machine machine(o.devices, o.seed);
    const launch_shape shape = small_grid(machine);
    std::vector<work_group_queue<Message>> queues;
    std::vector<buffer<std::uint64_t>> pushed;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        queues.emplace_back(machine.device(pe), work_group_queue_shape{lines, slots, 64});
        pushed.emplace_back(machine.device(pe), 1);
    }
    const auto service = std::make_shared<collector<Message>>(queues, lines);
    machine.attach(service);
    run_programs(machine, shape, o.timeout_seconds, [&](int pe) {
        const auto p = static_cast<std::size_t>(pe);
        return push_program<Message>{queues[p].sender(), way, each, 16'000 * p, pushed[p].data()};
    });
    std::uint64_t expected = 0;
    for (const auto& counter : pushed) expected += counter.copy_out()[0];
    const auto all = service->all();
    EXPECT_EQ(all.size(), expected);
    EXPECT_GT(expected, 0u);
    for (const auto& [id, count] : all) EXPECT_EQ(count, 1) << "message " << id;
    for (const int wrong : service->wrong) EXPECT_EQ(wrong, 0);
    std::uint64_t tickets = 0;
    for (const auto& queue : queues) tickets += queue.tickets();
    EXPECT_GT(tickets, static_cast<std::uint64_t>(lines) * slots);  // several laps, or it says nothing of credits
}

class work_group_queue_test : public testing::TestWithParam<std::string> {};

TEST_P(work_group_queue_test, EveryMessageArrivesOnceAndWhole) {
    every_round(GetParam(), [&](const options& o) {
        const int lines = 1 + static_cast<int>(o.seed % 3);
        const std::uint32_t slots = 1 + static_cast<std::uint32_t>(o.seed / 3 % 2);
        // On GPUs with their 256 lanes numbers stay below 8,000, so that none comes twice.
        const std::uint32_t each = is_checked(GetParam()) ? 4 : 30;
        const auto way = static_cast<pushing>(o.seed / 2 % 3);
        if (o.seed % 2 == 0) {
            check_run<long_message>(o, way, lines, slots, each);
        } else {
            check_run<short_message>(o, way, lines, slots, each);
        }
    });
}

LANEWAY_ON_DEVICES(work_group_queue_test, device_lists());

TEST_P(work_group_queue_test, AFullQueueMakesLanesWaitUntilTheirDeadline) {
    machine machine(GetParam());
    std::vector<work_group_queue<long_message>> queues;
    std::vector<buffer<std::uint64_t>> pushed;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        queues.emplace_back(machine.device(pe), work_group_queue_shape{1, 2, 64});
        pushed.emplace_back(machine.device(pe), 1);
    }
    try {
        run_programs(machine, small_grid(machine), 0.05, [&](int pe) {
            const auto p = static_cast<std::size_t>(pe);
            return push_program<long_message>{queues[p].sender(), pushing::lanes, 100, 0, pushed[p].data()};
        });
        FAIL() << "a third group fitted into two slots";
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("waiting for a free slot of a queue to the host: ticket "),
                  std::string::npos)
            << e.what();
    }
    host_context host;
    auto receiver = queues[0].receiver(0);
    for (int slot = 0; slot < 2; ++slot) {
        EXPECT_FALSE(receiver.peek(host).empty());
        receiver.release(host);
    }
    EXPECT_TRUE(receiver.peek(host).empty());
}

}  // namespace laneway::test
