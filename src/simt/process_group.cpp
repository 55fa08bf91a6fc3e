#include "laneway/simt/process_group.hpp"

#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

std::vector<contribution> process_group::meet(const std::string& call, const contribution& mine, double seconds) {
    if (size() == 1) return {mine};
    auto all = processes_->all_gather({call + '\0' + mine.bytes, mine.file}, seconds);
    for (int other = 0; other < size(); ++other) {
        std::string& given = all[static_cast<std::size_t>(other)].bytes;
        const auto end = given.find('\0');
        if (given.compare(0, end, call) != 0) {
            refuse("process " + std::to_string(other) + " is at '" + given.substr(0, end) + "', where process " +
                   std::to_string(rank()) + " is at '" + call + "'");
        }
        given.erase(0, end + 1);
    }
    forget_accesses();
    free_all();
    return all;
}

void process_group::refuse(const std::string& difference) {
    const std::string why = difference + ": all processes of a job make the same calls in the same order";
    leave(why);
    throw process_error(why);
}

void process_group::enter(access next) {
    if (size() > 1 && last_ != access::none && last_ != next) {
        (void)meet(next == access::write ? "writing memory of PEs" : "reading memory of PEs", {});
    }
    last_ = next;
}

void process_group::free_later(std::function<void()> free) {
    const std::lock_guard lock(freeing_);
    to_free_.push_back(std::move(free));
}

void process_group::free_all() {
    std::vector<std::function<void()>> due;
    {
        const std::lock_guard lock(freeing_);
        due.swap(to_free_);
    }
    for (const auto& free : due) free();
}

}  // namespace laneway
