// Tasks that wait for a device, in the order in which they are given to devices. Host only.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <map>

#include "laneway/task/task_options.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// A task that may start.
struct ready_task {
    task_id id;
    std::uint64_t number = 0;  ///< of those before it
};

/// Of one priority, in lines by the devices that may have them: one that waits for a GPU holds up none that a CPU
/// device can have.
class ready_level {
public:
    void push(task_id id, task_devices devices, std::uint64_t number) {
        lines_[static_cast<std::size_t>(devices)].push_back({id, number});
    }
    [[nodiscard]] bool empty() const {
        for (const auto& line : lines_) {
            if (!line.empty()) return false;
        }
        return true;
    }
    /// The devices of the line whose first task has waited longest, of lines that some of these devices may have; none:
    /// there is no such line.
    [[nodiscard]] task_devices oldest(task_devices among) const {
        auto found = task_devices::none;
        for (const auto devices : {task_devices::cpu, task_devices::gpu, task_devices::all}) {
            const auto& here = line(devices);
            if (here.empty() || (devices & among) == task_devices::none) continue;
            if (found == task_devices::none || here.front().number < line(found).front().number) found = devices;
        }
        return found;
    }
    [[nodiscard]] std::deque<ready_task>& line(task_devices devices) {
        return lines_[static_cast<std::size_t>(devices)];
    }
    [[nodiscard]] const std::deque<ready_task>& line(task_devices devices) const {
        return lines_[static_cast<std::size_t>(devices)];
    }

private:
    std::array<std::deque<ready_task>, 4> lines_;
};

class ready_tasks {
public:
    [[nodiscard]] bool empty() const { return levels_.empty(); }
    void clear() { levels_.clear(); }
    void push(task_id id, int priority, task_devices devices) { levels_[priority].push(id, devices, pushed_++); }

    /// Calls `give(line, among)` with what goes first to devices among those of `open`, until nothing is left that they
    /// may have. It takes the first of the line away, or returns false where none of these devices has room: then they
    /// take nothing that comes behind it in order, and other devices go on.
    template <class Give>
    void hand_out(task_devices open, const Give& give) {
        for (auto level = levels_.begin(); level != levels_.end() && open != task_devices::none;) {
            const auto devices = level->second.oldest(open);
            if (devices == task_devices::none) {
                level = level->second.empty() ? levels_.erase(level) : std::next(level);
                continue;
            }
            const std::uint64_t pushed_before = pushed_;
            if (!give(level->second.line(devices), devices & open)) open = open - devices;
            // An empty batch is done at once, and what follows it may come before all that is left.
            if (pushed_ != pushed_before) level = levels_.begin();
        }
    }

private:
    std::map<int, ready_level, std::greater<>> levels_;  ///< by priority
    std::uint64_t pushed_ = 0;
};

}  // namespace laneway
