#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <sstream>
#include <utility>

#include "laneway/base/bootstrap.hpp"
#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/base/one_line.hpp"
#include "laneway/base/wait_limit.hpp"
#include "local_joining.hpp"

namespace laneway {

namespace {

class local_job final : public bootstrap {
public:
    local_job(const std::string& name, int rank, int size, double timeout_seconds)
        : bootstrap(timeout_seconds), name_(name), rank_(rank) {
        for (auto& link : join_local_job(name, rank, size, timeout_seconds)) {
            peers_.emplace_back().link = std::move(link);
        }
    }

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return static_cast<int>(peers_.size()); }

    std::vector<contribution> all_gather(const contribution& mine, double seconds) override {
        refuse_elsewhere();
        refuse_when_over();
        return or_leave([&] { return gather(mine, seconds); });
    }

    void alert() override {
        refuse_elsewhere();
        for_others([](peer_state& peer) { peer.link.send(note::alert, {}); });
    }

    bool alerted() override {
        refuse_elsewhere();
        return or_leave([&] {
            bool any = !over_.empty();
            for_others([&](peer_state& peer) {
                peer.look();
                any = any || peer.alerts() || peer.leaves || (!peer.has_given() && peer.ended());
            });
            return any;
        });
    }

    void leave(const std::string& why) override {
        if (!over_.empty() || getpid() != pid_) return;
        over_ = why.empty() ? "it gave no reason" : one_line(why, ' ');
        for_others([&](peer_state& peer) {
            peer.link.send(note::leaving, {std::to_string(met_) + " " + over_, {}});
            peer.link = {};
            peer.leaves = true;
        });
    }

private:
    struct peer_state {
        peer_link link;
        /// Alerts and contributions in their order: an alert belongs to what is done before the contribution behind it.
        std::deque<peer_link::message> come;
        bool leaves = false;
        std::uint64_t met = 0;  ///< where it leaves: calls of all_gather that it has ended
        std::string reason;

        [[nodiscard]] bool ended() const { return leaves || link.ended(); }
        [[nodiscard]] bool alerts() const { return !come.empty() && come.front().kind == note::alert; }
        [[nodiscard]] bool has_given() const {
            return std::any_of(come.begin(), come.end(), [](const auto& m) { return m.kind == note::contribution; });
        }
        void look() {
            link.progress();
            for (peer_link::message next; link.take(next);) {
                if (next.kind == note::leaving) {
                    leaves = true;
                    std::istringstream told(next.content.bytes);
                    told >> met;
                    std::getline(told, reason);
                } else {
                    come.push_back(std::move(next));
                }
            }
        }
        /// Where it has given.
        contribution take() {
            while (alerts()) come.pop_front();
            contribution given = std::move(come.front().content);
            come.pop_front();
            return given;
        }
    };

    template <class Use>
    void for_others(Use&& use) {
        for (int other = 0; other < size(); ++other) {
            if (other != rank_) use(peers_[static_cast<std::size_t>(other)]);
        }
    }

    [[nodiscard]] std::string name_of(int other) const {
        const peer_link& link = peers_[static_cast<std::size_t>(other)].link;
        const std::string known = link.pid() != 0 ? " (pid " + std::to_string(link.pid()) + ")" : "";
        return "process " + std::to_string(other) + known + " of job " + name_;
    }

    std::vector<contribution> gather(const contribution& mine, double seconds) {
        wait_limit limit{wait_limit::seconds(seconds)};
        for_others([&](peer_state& peer) { peer.link.send(note::contribution, mine); });
        while (const int late = not_given() + 1) {
            if (limit.is_over()) throw_late("waiting for " + name_of(late - 1), seconds);
            interruption::poll();
            wait();
        }
        std::vector<contribution> all(peers_.size());
        for (std::size_t other = 0; other < peers_.size(); ++other) {
            all[other] = static_cast<int>(other) == rank_ ? mine : peers_[other].take();
        }
        ++met_;
        return all;
    }

    /// A process whose contribution is missing, or -1. Throws for one that has ended.
    int not_given() {
        int missing = -1;
        std::string gone;
        for (int other = 0; other < size(); ++other) {
            peer_state& peer = peers_[static_cast<std::size_t>(other)];
            if (other == rank_) continue;
            peer.look();
            const bool sends = peer.link.is_sending() && !peer.ended();
            // From what it has ended others may still be on their way.
            if (peer.leaves && peer.met <= met_) gone = name_of(other) + " has left:" + peer.reason;
            const bool given = peer.has_given();
            if (!given || sends) missing = other;
            if (!given && !peer.leaves && peer.ended()) throw process_error(name_of(other) + " has ended");
        }
        if (!gone.empty()) throw process_error(gone);
        return missing;
    }

    void wait() {
        std::vector<pollfd> all;
        for_others([&](peer_state& peer) {
            if (peer.link.ended()) return;
            const bool sends = peer.link.is_sending();
            all.push_back({peer.link.descriptor(), static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), 0});
        });
        (void)poll(all.data(), all.size(), look_ms);
    }

    /// A forked process has the same sockets: what it sends and takes there is lost to this one.
    void refuse_elsewhere() const {
        if (getpid() == pid_) return;
        throw usage_error("process " + std::to_string(rank_) + " of job " + name_ + " is pid " + std::to_string(pid_) +
                          ", not one that it has forked");
    }

    void refuse_when_over() const {
        if (!over_.empty()) throw process_error("job " + name_ + " has ended: " + over_);
    }

    std::string name_;
    int rank_;
    pid_t pid_ = getpid();
    std::vector<peer_state> peers_;  ///< by rank, the own one unused
    std::uint64_t met_ = 0;          ///< calls of all_gather that have ended
    std::string over_;               ///< why the job has ended for this process
};

}  // namespace

std::shared_ptr<bootstrap> local_processes(const std::string& name, int rank, int size, double timeout_seconds) {
    if (name.empty()) throw usage_error("a job of processes needs a name");
    if (size < 1 || size > max_processes) {
        throw usage_error("processes of a job: between 1 and " + std::to_string(max_processes) + ", not " +
                          std::to_string(size));
    }
    if (rank < 0 || rank >= size) {
        throw usage_error("rank " + std::to_string(rank) + " of a job of " + std::to_string(size) +
                          " processes: expected 0 to " + std::to_string(size - 1));
    }
    if (!(timeout_seconds > 0) || timeout_seconds > 1e9) {
        throw usage_error("the deadline of a job's processes: expected seconds above 0, 1e9 at most");
    }
    return std::make_shared<local_job>(name, rank, size, timeout_seconds);
}

}  // namespace laneway
