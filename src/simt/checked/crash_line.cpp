#include "laneway/simt/checked/crash_line.hpp"

#include <unistd.h>

#include <concepts>
#include <mutex>

#include "laneway/simt/checked/guarded_pages.hpp"
#include "laneway/simt/checked/lane_history.hpp"

namespace laneway::checked {

namespace {

constexpr std::size_t handler_stack_bytes = 64 * 1024;

thread_local crash_scene (*scene_of_thread)() = nullptr;

// One handler for all threads that run checked devices.
std::mutex counting;
int watches = 0;
struct sigaction action_before;

/// One line, made without the heap: all that a signal handler may do.
class line {
public:
    line& operator<<(const char* text) {
        while (*text != '\0' && length_ < sizeof text_ - 1) text_[length_++] = *text++;
        return *this;
    }
    template <std::integral Number>
    line& operator<<(Number number) {
        char digits[21];
        char* at = digits + sizeof digits;
        *--at = '\0';
        auto rest = static_cast<std::uint64_t>(number);  // none is negative
        do {
            *--at = static_cast<char>('0' + rest % 10);
            rest /= 10;
        } while (rest != 0);
        return *this << static_cast<const char*>(at);
    }
    void write() {
        text_[length_++] = '\n';
        const auto written = ::write(STDERR_FILENO, text_, length_);
        (void)written;  // nobody is left to be told
    }

private:
    char text_[512];
    std::size_t length_ = 0;
};

/// The part of symmetric memory at or shortly before an address, from the tables that nobody changes during a run.
struct nearest_part {
    std::uint32_t segment = 0;
    int pe = 0;
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;
};

bool find_part(const pe_environment& env, std::uintptr_t address, nearest_part& found) {
    const auto pes = static_cast<std::size_t>(env.n_pes);
    for (std::uint32_t segment = 0; segment < env.n_segments; ++segment) {
        for (std::size_t pe = 0; pe < pes; ++pe) {
            const auto begin = reinterpret_cast<std::uintptr_t>(env.segments[segment * pes + pe]);
            const std::uint64_t bytes = env.segment_bytes[segment];
            const std::uint64_t reach = bytes + 256 + guarded_pages::guard_bytes;
            if (begin == 0 || address < begin || address - begin >= reach || begin < found.begin) continue;
            found = {segment, static_cast<int>(pe), begin, bytes};
        }
    }
    return found.begin != 0;
}

void tell(const crash_scene& scene, std::uintptr_t address) {
    line out;
    out << "laneway: ";
    if (scene.lane == nullptr) {
        out << "a host function of a checked run";
    } else {
        const lane_position& position = scene.lane->position();
        out << "PE " << position.pe << " (checked:" << position.pe << ") block " << position.block << " warp "
            << position.warp << " lane " << position.lane;
    }
    nearest_part part;
    if (address < scene.stack && scene.stack - address <= guarded_pages::guard_bytes) {
        out << ": its stack has overflowed: too deep a recursion, or too large local arrays";
    } else if (address < 4096) {
        out << ": an access through a null pointer, or one that an array that has been freed has left";
    } else if (scene.lane != nullptr && find_part(scene.lane->environment(), address, part)) {
        const std::uint64_t at = address - part.begin;
        out << ": an access " << (at < part.bytes ? at : at - part.bytes)
            << (at < part.bytes ? " bytes into" : " bytes behind the end of") << " symmetric array " << part.segment
            << " (counted from 0 as allocated) on PE " << part.pe << ", which has " << part.bytes << " bytes";
    } else {
        out << ": an access to memory that is not there";
    }
    out.write();
}

void on_fault(int number, siginfo_t* info, void* context) {
    if (scene_of_thread != nullptr) tell(scene_of_thread(), reinterpret_cast<std::uintptr_t>(info->si_addr));
    // Returning repeats the access, which now meets what was there before.
    if (scene_of_thread != nullptr || (action_before.sa_flags & SA_SIGINFO) == 0) {
        sigaction(number, &action_before, nullptr);
    } else {
        action_before.sa_sigaction(number, info, context);
    }
}

}  // namespace

crash_watch::crash_watch(crash_scene (*scene)())
    : stack_(std::make_unique_for_overwrite<std::byte[]>(handler_stack_bytes)) {
    stack_t own{};
    own.ss_sp = stack_.get();
    own.ss_size = handler_stack_bytes;
    sigaltstack(&own, &before_);
    scene_of_thread = scene;
    const std::lock_guard lock(counting);
    if (watches++ != 0) return;
    struct sigaction mine {};
    mine.sa_sigaction = on_fault;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&mine.sa_mask);
    sigaction(SIGSEGV, &mine, &action_before);
}

crash_watch::~crash_watch() {
    scene_of_thread = nullptr;
    sigaltstack(&before_, nullptr);
    const std::lock_guard lock(counting);
    if (--watches != 0) return;
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    // Someone else's handler, set during the run, stays.
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) sigaction(SIGSEGV, &action_before, nullptr);
}

}  // namespace laneway::checked
