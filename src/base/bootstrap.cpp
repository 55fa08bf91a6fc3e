#include "laneway/base/bootstrap.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

class lone final : public bootstrap {
public:
    lone() : bootstrap(60) {}
    [[nodiscard]] int rank() const override { return 0; }
    [[nodiscard]] int size() const override { return 1; }
    std::vector<contribution> all_gather(const contribution& mine, double) override { return {mine}; }
    void alert() override {}
    bool alerted() override { return false; }
    void leave(const std::string&) override {}
};

template <class Number>
Number number_of(const char* variable, const char* text) {
    Number number{};
    if (text != nullptr) {
        const char* const end = text + std::strlen(text);
        if (const auto read = std::from_chars(text, end, number); read.ec == std::errc{} && read.ptr == end) {
            return number;
        }
    }
    throw usage_error(std::string(variable) + ": expected a number, not '" + (text == nullptr ? "" : text) + "'");
}

std::shared_ptr<bootstrap> join() {
    const char* const size = std::getenv("LANEWAY_SIZE");
    if (size == nullptr) return lone_process();
    const char* const job = std::getenv("LANEWAY_JOB");
    const char* const timeout = std::getenv("LANEWAY_JOB_TIMEOUT");
    return local_processes(job == nullptr ? "" : job, number_of<int>("LANEWAY_RANK", std::getenv("LANEWAY_RANK")),
                           number_of<int>("LANEWAY_SIZE", size),
                           timeout == nullptr ? 60 : number_of<double>("LANEWAY_JOB_TIMEOUT", timeout));
}

}  // namespace

std::shared_ptr<bootstrap> lone_process() { return std::make_shared<lone>(); }

std::shared_ptr<bootstrap> processes_of_environment() {
    static std::mutex joining;
    static std::shared_ptr<bootstrap> joined;
    const std::lock_guard lock(joining);
    if (!joined) joined = join();
    return joined;
}

}  // namespace laneway
