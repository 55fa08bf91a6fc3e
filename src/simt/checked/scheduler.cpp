#include "laneway/simt/checked/scheduler.hpp"

#include <cxxabi.h>
#include <ucontext.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/simt/checked/crash_line.hpp"
#include "laneway/simt/checked/guarded_pages.hpp"
#include "laneway/simt/checked/lane_history.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace laneway::checked {

namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::uint64_t look_period = 1024;
constexpr std::uint64_t steps_to_unwind = 100'000;  // and a thousand for each lane

// Stacks are kept between runs: a thousand seeds would otherwise map and unmap a million pages.
class stack_pool {
public:
    guarded_pages take() {
        if (free_.empty()) {
            guarded_pages stack(stack_bytes, guarded_pages::guard::below);
            if (!stack) throw system_error("checked mode: no memory for the stack of one more lane");
            return stack;
        }
        auto stack = std::move(free_.back());
        free_.pop_back();
        return stack;
    }
    void give_back(guarded_pages stack) {
#if defined(__SANITIZE_ADDRESS__)
        // A lane that was dropped where it stood leaves its frames behind.
        ASAN_UNPOISON_MEMORY_REGION(stack.data(), stack.size());
#endif
        free_.push_back(std::move(stack));
    }

private:
    std::vector<guarded_pages> free_;
};

thread_local stack_pool stacks;
thread_local scheduler* active = nullptr;

// Sanitizers must be told of every change of stack: what each keeps of one of them.
class sanitized_stack {
public:
    sanitized_stack() = default;
    sanitized_stack(const sanitized_stack&) = delete;
    sanitized_stack& operator=(const sanitized_stack&) = delete;
#if defined(__SANITIZE_THREAD__)
    ~sanitized_stack() {
        if (owned_) __tsan_destroy_fiber(fiber_);
    }
#endif

    void make_fiber() {
#if defined(__SANITIZE_THREAD__)
        fiber_ = __tsan_create_fiber(0);
        owned_ = true;
#endif
    }
    void make_host() {
#if defined(__SANITIZE_THREAD__)
        fiber_ = __tsan_get_current_fiber();
#endif
    }
    void leave_for([[maybe_unused]] const sanitized_stack& next, [[maybe_unused]] const void* bottom,
                   [[maybe_unused]] std::size_t bytes, [[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, bottom, bytes);
#endif
#if defined(__SANITIZE_THREAD__)
        __tsan_switch_to_fiber(next.fiber_, 0);
#endif
    }
    void arrive([[maybe_unused]] const void** bottom, [[maybe_unused]] std::size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(fake_stack_, bottom, bytes);
#endif
    }

private:
#if defined(__SANITIZE_ADDRESS__)
    void* fake_stack_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
    void* fiber_ = nullptr;
    bool owned_ = false;
#endif
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(_FORTIFY_SOURCE) || \
    (defined(__CET__) && (__CET__ & 2) != 0)
#define LANEWAY_SWITCHES_BY_SWAPCONTEXT 1  // these, and shadow stacks, take a jump to another stack for an error
#else
#define LANEWAY_SWITCHES_BY_SWAPCONTEXT 0
#endif

/// Where a lane, or the host, has stopped. swapcontext asks the kernel for the signal mask at each switch, which takes
/// twice the time of all else that lanes do; so it only makes stacks, and switches are jumps, as in QEMU's coroutines.
class stopping_place {
public:
    /// The first switch to it calls `main` on a stack, which does not return.
    void begin(std::byte* stack, void (*main)()) {
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack;
        context_.uc_stack.ss_size = stack_bytes;
        context_.uc_link = nullptr;
        makecontext(&context_, main, 0);
    }
    /// Stops here, and goes on at another place; returns when another one goes on here.
    void switch_to(stopping_place& next) {
        has_stopped_ = true;
#if LANEWAY_SWITCHES_BY_SWAPCONTEXT
        swapcontext(&context_, &next.context_);
#else
        if (_setjmp(here_) == 0) next.go_on();
#endif
    }
    /// Goes on where it has stopped, for who does not come back.
    [[noreturn]] void go_on() {
        if (!has_stopped_ || LANEWAY_SWITCHES_BY_SWAPCONTEXT != 0) {
            setcontext(&context_);
            std::abort();  // it returns only where it fails
        }
        _longjmp(here_, 1);
    }

private:
    ucontext_t context_{};
    std::jmp_buf here_{};
    bool has_stopped_ = false;
};

/// What the C++ runtime keeps for a thread: the exceptions that are being handled, and how many are on their way. Each
/// fiber has its own, as it may be switched away in a handler or in a destructor that an exception runs. The layout is
/// that of the Itanium C++ ABI, 2.2.2.
struct exceptions_in_flight {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    void save() { std::memcpy(this, abi::__cxa_get_globals(), sizeof *this); }
    void restore() const { std::memcpy(abi::__cxa_get_globals(), this, sizeof *this); }
};

}  // namespace

struct scheduler::fiber {
    std::function<void()> body;
    const lane_history* history = nullptr;
    stopping_place where;
    guarded_pages stack;
    sanitized_stack sanitized;
    exceptions_in_flight exceptions;
};

struct scheduler::machinery {
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<std::size_t> live;  // indices of fibers that have not ended
    std::size_t position = 0;       // of the running fiber in `live`
    stopping_place host;
    sanitized_stack host_sanitized;
    const void* host_bottom = nullptr;
    std::size_t host_bytes = 0;
    exceptions_in_flight host_exceptions;
    bool looking = false;  // a lane has stepped aside so that the host can look
    std::exception_ptr thrown;
};

scheduler::scheduler(std::uint64_t seed, std::uint64_t step_limit)
    : state_(seed), step_limit_(step_limit), machinery_(std::make_unique<machinery>()) {
    // Seeds differ in how often they switch as well: rare switches reach deep states, frequent ones narrow windows.
    switch_period_ = std::uint64_t{1} << (1 + next_random() % 5);
}

scheduler::~scheduler() {
    for (auto& f : machinery_->fibers) stacks.give_back(std::move(f->stack));
}

void scheduler::add(std::function<void()> lane, const lane_history* history) {
    auto f = std::make_unique<fiber>();
    f->body = std::move(lane);
    f->history = history;
    f->stack = stacks.take();
    f->sanitized.make_fiber();
    f->where.begin(f->stack.data(), &scheduler::lane_main);
    machinery_->live.push_back(machinery_->fibers.size());
    machinery_->fibers.push_back(std::move(f));
}

void scheduler::run(const std::function<void()>& look) {
    auto& m = *machinery_;
    if (m.live.empty()) return;
    if (active != nullptr) throw usage_error("checked mode: a run was started from inside a run");
    struct while_active {
        explicit while_active(scheduler* running) { active = running; }
        ~while_active() { active = nullptr; }
    } const until_it_returns(this);
    const crash_watch crashes([] {
        const machinery& now = *active->machinery_;
        const fiber& self = *now.fibers[now.live[now.position]];
        return crash_scene{self.history, reinterpret_cast<std::uintptr_t>(self.stack.data())};
    });
    look_ = look;
    m.host_sanitized.make_host();
    m.position = next_random() % m.live.size();
    fiber& first = *m.fibers[m.live[m.position]];
    m.host_exceptions.save();
    first.exceptions.restore();
    m.host_sanitized.leave_for(first.sanitized, first.stack.data(), stack_bytes, false);
    m.host.switch_to(first.where);
    m.host_sanitized.arrive(nullptr, nullptr);
    while (m.looking) look_from_host();
    m.host_exceptions.restore();
    if (m.thrown) std::rethrow_exception(m.thrown);
}

// What looks may need the stack of a thread: it may be an interpreter's signal handler.
void scheduler::look_from_host() {
    auto& m = *machinery_;
    m.looking = false;
    try {
        look_();
    } catch (...) {
        m.thrown = std::current_exception();
        ended_at_ = steps_;
    }
    fiber& next = *m.fibers[m.live[m.position]];
    next.exceptions.restore();
    m.host_sanitized.leave_for(next.sanitized, next.stack.data(), stack_bytes, false);
    m.host.switch_to(next.where);
    m.host_sanitized.arrive(nullptr, nullptr);
}

void scheduler::lane_main() {
    auto& m = *active->machinery_;
    fiber& self = *m.fibers[m.live[m.position]];
    self.sanitized.arrive(m.host_bottom ? nullptr : &m.host_bottom, m.host_bottom ? nullptr : &m.host_bytes);
    std::exception_ptr thrown;
    try {
        self.body();
    } catch (const out_of_steps&) {
        thrown = std::current_exception();
    } catch (const run_over&) {
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown && !m.thrown) {
        m.thrown = std::move(thrown);
        active->ended_at_ = active->steps_;
    }
    thrown = nullptr;  // a fiber that has ended is not left by returning
    m.live.erase(m.live.begin() + static_cast<std::ptrdiff_t>(m.position));
    if (m.live.empty()) active->leave(self);
    m.position = active->next_random() % m.live.size();
    fiber& next = *m.fibers[m.live[m.position]];
    next.exceptions.restore();
    self.sanitized.leave_for(next.sanitized, next.stack.data(), stack_bytes, true);
    next.where.go_on();
}

void scheduler::leave(fiber& self) {
    auto& m = *machinery_;
    self.sanitized.leave_for(m.host_sanitized, m.host_bottom, m.host_bytes, true);
    m.host.go_on();
}

void scheduler::switch_to(std::size_t position) {
    auto& m = *machinery_;
    fiber& self = *m.fibers[m.live[m.position]];
    m.position = position;
    fiber& next = *m.fibers[m.live[position]];
    if (&self == &next) return;
    self.exceptions.save();
    next.exceptions.restore();
    self.sanitized.leave_for(next.sanitized, next.stack.data(), stack_bytes, false);
    self.where.switch_to(next.where);
    self.sanitized.arrive(nullptr, nullptr);
}

void scheduler::end_within(std::uint64_t steps) { step_limit_ = std::min(step_limit_, steps_ + steps); }

out_of_steps scheduler::too_many_steps() const {
    return out_of_steps("checked mode: the lanes did not end within " + std::to_string(step_limit_) + " steps, " +
                        std::to_string(static_cast<double>(step_limit_ * step_ns) / 1e9) + " s of virtual time");
}

void scheduler::note_endless() {
    const auto& m = *machinery_;
    const lane_history* const lane = m.fibers[m.live[m.position]]->history;
    if (steps_ <= step_limit_ || lane == nullptr || endless_serves_) return;
    if (!endless_lane_.empty() && !lane->serves()) return;
    endless_serves_ = lane->serves();
    endless_lane_ = lane->still_in();
}

void scheduler::end_lane() {
    auto& m = *machinery_;
    note_endless();
    if (steps_ > (m.thrown ? ended_at_ : step_limit_) + steps_to_unwind + 1'000 * m.fibers.size()) {
        if (!m.thrown) m.thrown = std::make_exception_ptr(too_many_steps());
        leave(*m.fibers[m.live[m.position]]);
    }
    if (std::uncaught_exceptions() > 0) return;  // a destructor that an exception runs must not throw
    if (m.thrown) throw run_over{};
    throw too_many_steps();
}

void scheduler::count_step() {
    ++steps_;
    if (machinery_->thrown || steps_ > step_limit_) return end_lane();
    if (look_ && steps_ % look_period == 0) step_aside();
}

void scheduler::step_aside() {
    auto& m = *machinery_;
    fiber& self = *m.fibers[m.live[m.position]];
    m.looking = true;
    self.exceptions.save();
    m.host_exceptions.restore();
    self.sanitized.leave_for(m.host_sanitized, m.host_bottom, m.host_bytes, false);
    self.where.switch_to(m.host);
    self.sanitized.arrive(nullptr, nullptr);
}

void scheduler::step() {
    count_step();
    if (next_random() % switch_period_ == 0) switch_to(next_random() % machinery_->live.size());
}

void scheduler::yield() {
    count_step();
    const std::size_t lanes = machinery_->live.size();
    if (lanes > 1) switch_to((machinery_->position + 1 + next_random() % (lanes - 1)) % lanes);
}

bool scheduler::one_in(std::uint64_t n) { return next_random() % n == 0; }

std::uint64_t scheduler::next_random() {
    // splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

}  // namespace laneway::checked
