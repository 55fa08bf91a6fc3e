// What the bodies of tasks throw on CPU devices, on its way to the host. Host only.
#pragma once

#include <exception>
#include <mutex>
#include <unordered_map>

#include "laneway/simt/thrown_log.hpp"

namespace laneway {

/// The first exception of each task. Any thread.
class task_failures {
public:
    /// Calls `call()`, and keeps what it throws; whether it threw. What by itself ends the lane passes through.
    /// `record`, `index`: the task's, see task_slot.
    template <class Call>
    bool catches(std::uint32_t record, std::uint32_t index, Call&& call) {
        std::exception_ptr thrown;
        try {
            call();
            return false;
        } catch (const ends_lane&) {
            throw;
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        kept_.try_emplace(key(record, index), std::move(thrown));
        return true;
    }
    /// Null where there is none. It is forgotten here.
    std::exception_ptr take(std::uint32_t record, std::uint32_t index) {
        const std::lock_guard lock(mutex_);
        const auto found = kept_.find(key(record, index));
        if (found == kept_.end()) return nullptr;
        std::exception_ptr thrown = std::move(found->second);
        kept_.erase(found);
        return thrown;
    }
    /// Forgets all exceptions of a record, which will be another task's.
    void forget(std::uint32_t record) {
        const std::lock_guard lock(mutex_);
        if (kept_.empty()) return;
        std::erase_if(kept_, [&](const auto& one) { return one.first >> 32 == record; });
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        kept_.clear();
    }

private:
    static std::uint64_t key(std::uint32_t record, std::uint32_t index) { return std::uint64_t{record} << 32 | index; }

    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::exception_ptr> kept_;
};

}  // namespace laneway
