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

[[noreturn]] void refuse(const char* variable, const std::string& expected, const char* text) {
    throw usage_error(std::string(variable) + ": expected " + expected + ", not '" + text + "'");
}

template <class Number>
Number number_of(const char* variable, const char* text) {
    Number number{};
    const char* const end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, number);
    if (read.ec != std::errc{} || read.ptr != end) refuse(variable, "a number", text);
    return number;
}

int number_of_processes(const char* text) {
    const int size = number_of<int>("LANEWAY_SIZE", text);
    if (size < 1 || size > max_processes) {
        refuse("LANEWAY_SIZE", "a number from 1 to " + std::to_string(max_processes), text);
    }
    return size;
}

/// A variable that goes with LANEWAY_SIZE, and what it is.
const char* needed(const char* variable, const char* what) {
    const char* const text = std::getenv(variable);
    if (text != nullptr && *text != '\0') return text;
    throw usage_error(std::string(variable) + " is not set: with LANEWAY_SIZE it is needed, as " + what);
}

std::shared_ptr<bootstrap> join() {
    const char* const size_text = std::getenv("LANEWAY_SIZE");
    if (size_text == nullptr) return lone_process();
    const int size = number_of_processes(size_text);
    const std::string job = needed("LANEWAY_JOB", "the job's name");
    const int rank = number_of<int>("LANEWAY_RANK", needed("LANEWAY_RANK", "this process's number"));
    const char* const timeout = std::getenv("LANEWAY_JOB_TIMEOUT");
    return local_processes(job, rank, size,
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
