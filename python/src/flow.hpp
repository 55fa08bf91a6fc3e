// What Python objects of a dataflow share: its context, and what must stay as long as the context may look at it.
//
// No thread of the library ever holds or waits for the interpreter's lock, so none can keep Python from ending:
// policies run on the Python thread that sends, and memory that is being sent is let go by Python threads, at their
// next send.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interruptible.hpp"
#include "laneway/base/error.hpp"
#include "laneway/flow/router.hpp"

namespace laneway::python {

/// A dataflow, of which all that is made of it has a share. Made, used and destroyed with the interpreter's lock. In a
/// process that was forked off it does nothing but refuse, as its threads and locks are another process's.
class dataflow : public std::enable_shared_from_this<dataflow> {
public:
    explicit dataflow(const options& job);
    ~dataflow();
    dataflow(const dataflow&) = delete;
    dataflow& operator=(const dataflow&) = delete;

    /// Throws usage_error in a process that was forked off, and after close().
    [[nodiscard]] flow::context& context() const;
    [[nodiscard]] bool foreign() const { return getpid() != process_; }
    void close();
    /// Closes all that there are, and waits two seconds at most until no thread is within a flow_call: one that asks
    /// for the interpreter's lock in a policy as Python ends would end the process.
    static void close_all();
    [[nodiscard]] int inside() const { return inside_; }

    /// Keeps a Python object until the event has happened.
    void hold(event until, nanobind::object thing);
    /// Keeps a policy until the dataflow is closed, and returns its number.
    std::size_t add_policy(nanobind::callable policy);
    /// Null when the dataflow has been closed.
    [[nodiscard]] nanobind::object policy(std::size_t number) const {
        return number < policies_.size() ? policies_[number] : nanobind::object();
    }

private:
    friend class flow_call;
    struct held {
        event until;
        nanobind::object thing;
    };
    void let_go();

    static std::set<dataflow*> all_;
    const pid_t process_ = getpid();
    std::unique_ptr<flow::context> context_;
    bool closed_ = false;
    int inside_ = 0;
    std::vector<held> held_;
    std::vector<nanobind::object> policies_;
};

/// Guard of a compiled call that may wait, made with the interpreter's lock, which others have meanwhile.
class flow_call {
public:
    explicit flow_call(dataflow& of) : context_(of.context()), inside_(of) {}
    [[nodiscard]] flow::context& context() const { return context_; }

private:
    struct counted {
        explicit counted(dataflow& flow) : of(flow) { ++of.inside_; }
        ~counted() { --of.inside_; }
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        dataflow& of;
    };

    flow::context& context_;
    counted inside_;  // before and behind what releases the lock
    interruptible released_;
};

struct flow_endpoint {
    std::shared_ptr<dataflow> of;
    flow::endpoint end;

    void require(const std::shared_ptr<dataflow>& context) const {
        if (of != context) throw usage_error(end.name() + " is an endpoint of another context");
    }
};

/// A link, of which its Python object, its receives and its segments have a share.
class flow_link {
public:
    flow_link(const flow_endpoint& source, const flow_endpoint& destination, const flow::link_options& sizes);
    ~flow_link();
    flow_link(const flow_link&) = delete;
    flow_link& operator=(const flow_link&) = delete;

    [[nodiscard]] const flow::link& link() const { return *link_; }
    [[nodiscard]] dataflow& of() const { return *of_; }
    [[nodiscard]] const std::shared_ptr<dataflow>& owner() const { return of_; }
    [[nodiscard]] const flow::endpoint& source() const { return source_; }
    [[nodiscard]] const flow::endpoint& destination() const { return destination_; }
    /// Copies a packet's bytes from the destination's memory; returns when that is done. Within a flow_call.
    [[nodiscard]] std::shared_ptr<std::vector<std::uint8_t>> copy(flow::context& context,
                                                                  const flow::pending_segment& packet);

    /// The same into memory that the caller keeps; returns at once.
    [[nodiscard]] event unpack(flow::context& context, const flow::pending_segment& packet, const flow::target& into);
    /// A stream at one of its ends, on a GPU, that goes on behind what another library's has been given so far: its
    /// legacy default stream, where none is named; behind nothing on a CPU device. Within a flow_call. Throws
    /// usage_error for memory of another GPU and for a named stream of what is no GPU.
    [[nodiscard]] device_stream behind(flow::context& context, const flow::endpoint& at,
                                       std::optional<std::uintptr_t> stream, const void* memory = nullptr) const;
    /// A stream at the destination, for hold_back. Throws usage_error where that is no GPU.
    [[nodiscard]] device_stream before(flow::context& context) const;
    /// What another library's stream is given from now on comes behind `arrived`: the GPU waits. Returns when that
    /// stream has been told, which is when what `arrived` stands for is in a GPU's queue. Within a flow_call.
    void hold_back(flow::context& context, device_stream& before, std::uintptr_t stream, const event& arrived) const;

private:
    void require_gpu(const device_stream& made, const flow::endpoint& at) const;
    [[nodiscard]] device_stream& copies(flow::context& context);  ///< under `copying_`

    std::shared_ptr<dataflow> of_;
    flow::endpoint source_;
    flow::endpoint destination_;
    std::unique_ptr<flow::link> link_;
    std::mutex copying_;
    std::unique_ptr<device_stream> copies_;
};

/// While a thread sends: what a policy written in Python raises, which the library tells by its words only.
class policy_call {
public:
    policy_call() : outer_(std::exchange(current_, this)) {}
    ~policy_call() { current_ = outer_; }
    policy_call(const policy_call&) = delete;
    policy_call& operator=(const policy_call&) = delete;

    /// Runs the numbered policy of a dataflow; what routers are given.
    static flow::routing_policy of(const std::shared_ptr<dataflow>& owner, std::size_t number);
    /// Throws what was raised, if something was: as the cause of `told`, or itself, where it is no ordinary error.
    void rethrow(const usage_error& told);

private:
    std::optional<nanobind::python_error> raised_;
    policy_call* outer_;
    static thread_local policy_call* current_;
};

}  // namespace laneway::python
