// What host threads have of the calls that they have submitted to a fork-join program in a session. Host only.
#pragma once

#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "laneway/task/channel_host.hpp"

namespace laneway {

/// Where the results of calls of one function come from: a channel that host threads consume.
struct fork_answer_channel {
    std::uint32_t channel = 0;
    std::size_t element_bytes = 0;
    std::size_t ticket_at = 0;  ///< bytes from the element on: which call it is of
    std::size_t value_at = 0;
    std::size_t value_bytes = 0;
};

/// Calls that wait for their results. Any thread.
class fork_answers {
public:
    struct call_id {
        std::uint64_t ticket = 0;
        std::uint64_t session = 0;
    };

    fork_answers(std::shared_ptr<channel_host> host, std::vector<fork_answer_channel> channels, int n_pes)
        : host_(std::move(host)), channels_(std::move(channels)), n_pes_(static_cast<std::uint64_t>(n_pes)) {}

    /// A call that is about to be submitted, and the PE that it goes to.
    [[nodiscard]] std::pair<call_id, int> begin();
    /// Submits it, as channel_host::enqueue; what that throws leaves no call.
    void submit(const call_id& call, std::uint32_t channel, const void* element, std::size_t bytes, int pe);
    /// Does not wait.
    [[nodiscard]] bool is_done(const call_id& call);
    /// Waits for the result, and copies it. Throws as channel_host::take, and usage_error where its session has ended
    /// without it.
    void wait(const call_id& call, void* result);
    /// Nobody wants the result any more.
    void forget(const call_id& call) noexcept;

private:
    void gather();
    [[nodiscard]] bool copy(const call_id& call, void* result);

    std::shared_ptr<channel_host> host_;
    std::vector<fork_answer_channel> channels_;
    std::uint64_t n_pes_;
    std::mutex mutex_;
    std::uint64_t next_ = 0;
    std::unordered_map<std::uint64_t, std::optional<std::vector<std::byte>>> calls_;  ///< by ticket: result, once there
};

/// Of a call that was submitted. When it is gone the call still runs, and its result goes nowhere.
template <class Result>
class fork_future {
public:
    fork_future() = default;
    fork_future(std::shared_ptr<fork_answers> answers, const fork_answers::call_id& call)
        : answers_(std::move(answers)), call_(call) {}
    fork_future(fork_future&& other) noexcept : answers_(std::move(other.answers_)), call_(other.call_) {}
    fork_future& operator=(fork_future&& other) noexcept {
        fork_future taken(std::move(other));  // and lets its own call go
        std::swap(answers_, taken.answers_);
        std::swap(call_, taken.call_);
        return *this;
    }
    ~fork_future() {
        if (answers_ != nullptr) answers_->forget(call_);
    }

    /// Does not wait.
    [[nodiscard]] bool is_done() const { return answers().is_done(call_); }
    /// Waits for the result. May be called again. Throws what ended the session, timeout_error past the deadline, and
    /// usage_error where the session has ended without it.
    [[nodiscard]] Result get() const {
        alignas(Result) std::byte bytes[sizeof(Result)];
        answers().wait(call_, bytes);
        return *std::launder(reinterpret_cast<Result*>(bytes));
    }

private:
    [[nodiscard]] fork_answers& answers() const {
        if (answers_ == nullptr) throw usage_error("this future has no call");
        return *answers_;
    }

    std::shared_ptr<fork_answers> answers_;
    fork_answers::call_id call_;
};

}  // namespace laneway
