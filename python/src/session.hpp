// Open devices that Python objects share, one call at a time.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "one_call.hpp"
#include "workspace/resident_graph.hpp"

namespace laneway::python {

/// A workspace and what Python objects have in it: graphs, tables of results. Any thread; calls wait for each other. In
/// a process that was forked off it does nothing but refuse, as devices and locks may be another process's.
class session {
public:
    session(options job, std::uint64_t kept_bytes)
        : workspace_(std::make_unique<apps::workspace>(std::move(job), kept_bytes)) {}
    ~session() {
        if (!foreign()) return;
        new std::vector<std::shared_ptr<void>>(std::move(things_));  // never freed, as the devices are not ours
        (void)workspace_.release();
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// `use(workspace)` while nobody else uses it. Throws usage_error where it is closed or belongs to another process,
    /// and where an earlier run did not end, saying how that went.
    template <class Use>
    auto call(Use&& use) {
        require_own();
        const dropping at_end{*this};
        const std::lock_guard alone(call_);
        if (!workspace_) throw usage_error("the session is closed");
        if (!loss_.empty()) {
            throw usage_error("an earlier call of the session did not end, so its devices take no other (" + loss_ +
                              "): open a new session");
        }
        drop_dead();
        try {
            return use(*workspace_);
        } catch (const error& e) {
            if (workspace_->lost()) loss_ = e.what();
            throw;
        }
    }

    /// Frees everything once the call that goes on has ended.
    void close() {
        if (foreign()) return;
        const std::lock_guard alone(call_);
        things_.clear();
        workspace_.reset();
    }

    /// Within a call: keeps it until it is dropped or the session closed.
    void take(std::shared_ptr<void> thing) { things_.push_back(std::move(thing)); }
    /// At any moment, also in the midst of a call, as Python's collector does not wait.
    void drop(const void* thing) {
        if (foreign()) return;
        {
            const std::lock_guard lock(dropping_);
            dead_.push_back(thing);
        }
        drop_unless_busy();
    }

private:
    /// What died while the call went on goes with its end.
    struct dropping {
        session& of;
        ~dropping() { of.drop_unless_busy(); }
    };

    [[nodiscard]] bool foreign() const { return getpid() != process_; }
    void require_own() const {
        if (foreign()) {
            throw usage_error("the session belongs to process " + std::to_string(process_) +
                              ", which this one was forked from: open a session here");
        }
    }

    [[nodiscard]] bool any_dead() {
        const std::lock_guard lock(dropping_);
        return !dead_.empty();
    }
    void drop_unless_busy() {
        while (any_dead() && call_.try_lock()) {
            drop_dead();
            call_.unlock();
        }
    }
    void drop_dead() {
        std::vector<const void*> dead;
        {
            const std::lock_guard lock(dropping_);
            dead.swap(dead_);
        }
        for (const void* thing : dead) std::erase_if(things_, [&](const auto& one) { return one.get() == thing; });
    }

    const pid_t process_ = getpid();
    one_call call_{"a call on these devices"};
    std::unique_ptr<apps::workspace> workspace_;
    std::vector<std::shared_ptr<void>> things_;  ///< freed before the workspace
    std::string loss_;                           ///< what ended the run after which the devices take no other
    std::mutex dropping_;
    std::vector<const void*> dead_;
};

/// What a Python object has in a session: a graph's pieces, a result's table.
template <class Thing>
class in_session {
public:
    /// `make(workspace)` gives a shared pointer.
    template <class Make>
    in_session(std::shared_ptr<session> owner, Make&& make) : session_(std::move(owner)) {
        session_->call([&](apps::workspace& workspace) {
            std::shared_ptr<Thing> made = make(workspace);
            thing_ = made.get();
            session_->take(std::move(made));
        });
    }
    ~in_session() { session_->drop(thing_); }
    in_session(const in_session&) = delete;
    in_session& operator=(const in_session&) = delete;

    /// `use(thing)` as session::call.
    template <class Use>
    auto call(Use&& use) const {
        return session_->call([&](apps::workspace&) { return use(*thing_); });
    }

private:
    std::shared_ptr<session> session_;
    Thing* thing_ = nullptr;  ///< of the session, and gone when that is closed
};

using resident = in_session<apps::resident_graph>;

}  // namespace laneway::python
