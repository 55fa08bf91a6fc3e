#include "workspace_suite.hpp"  // on CPU devices

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "../../../python/src/session.hpp"

namespace laneway::test {
namespace {

/// Waits for the host, which no deadline ends.
struct wait_for_ever {
    std::atomic<bool>* over;
    std::atomic<int>* ended;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx&, Box&) const {
        while (!*over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++*ended;
    }
};

struct ignore_message {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const std::uint64_t&) const {}
};

TEST(lost_devices_test, ASessionSaysWhatHappenedAndAnotherOneWorks) {
    static std::atomic<bool> over{false};  // the run's threads outlive the test where it fails
    static std::atomic<int> ended{0};
    options job;
    job.devices = "cpu:2";
    job.timeout_seconds = 2;  // in which the kernels must have begun
    const auto g = random_graph(3, 60);
    const apps::indegree_options options{job, apps::arc_walk::lists};
    python::session session(job, apps::workspace::default_kept_bytes);
    const auto hang = [&](apps::workspace& space) {
        auto& devices = *space.devices();
        devices.run(wait_for_ever{&over, &ended}, devices.mailbox<std::uint64_t>(ignore_message{}));
    };
    EXPECT_THROW(session.call(hang), timeout_error);
    for (int again = 0; again < 2; ++again) {
        try {
            session.call([](apps::workspace&) {});
            FAIL() << "the devices are lost";
        } catch (const usage_error& refused) {
            const std::string said = refused.what();
            EXPECT_NE(said.find("an earlier call of the session did not end"), std::string::npos) << said;
            EXPECT_NE(said.find("its kernel did not end within the deadline"), std::string::npos) << said;
            EXPECT_NE(said.find("open a new session"), std::string::npos) << said;
        }
    }
    session.close();
    job.timeout_seconds = 60;
    auto other = std::make_shared<python::session>(job, apps::workspace::default_kept_bytes);
    {
        const python::resident graph(
            other, [&](apps::workspace& space) { return std::make_shared<apps::resident_graph>(space, g); });
        EXPECT_EQ(
            graph.call([&](apps::resident_graph& on_devices) { return apps::indegree(on_devices, options).in_degree; }),
            apps::indegree(g, {job, apps::arc_walk::lists}).in_degree);
    }
    over = true;
    while (ended != 2) std::this_thread::yield();
}

TEST(shared_session_test, GraphsComeAndGoWhileOthersCall) {
    options job;
    job.devices = "cpu:2";
    job.timeout_seconds = 60;
    const auto g = random_graph(3, 60);
    const apps::indegree_options options{job, apps::arc_walk::lists};
    const auto expected = apps::indegree(g, options).in_degree;
    auto session = std::make_shared<python::session>(job, apps::workspace::default_kept_bytes);
    const auto make = [&](apps::workspace& space) { return std::make_shared<apps::resident_graph>(space, g); };
    const auto count = [&](apps::resident_graph& on_devices) { return apps::indegree(on_devices, options).in_degree; };
    std::optional<python::resident> kept(std::in_place, session, make);
    EXPECT_EQ(kept->call(count), expected);
    const auto held = [&] { return session->call([](apps::workspace& space) { return space.held_bytes(); }); };
    const auto with_one = held();
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                const python::resident mine(session, make);
                EXPECT_EQ(mine.call(count), expected);
            }
        });
    }
    for (int round = 0; round < 20; ++round) EXPECT_EQ(kept->call(count), expected);
    threads.clear();
    EXPECT_EQ(held(), with_one) << "the others' pieces have gone with them";
    session->close();
    EXPECT_THROW(kept->call(count), usage_error);
    kept.reset();
}

}  // namespace
}  // namespace laneway::test
