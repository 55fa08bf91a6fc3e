// What tests share whose programs have several components with work of their own.
#pragma once

#include "laneway/task/task_pool.hpp"
#include "remote_job.hpp"

namespace laneway::test {
namespace {

class shared_program_test : public testing::TestWithParam<std::string> {
protected:
    /// A deadline that is far away for what goes on, and near for what does not.
    [[nodiscard]] options job(std::uint64_t seed, bool session = false) const {
        options o = options_of(GetParam(), seed);
        o.timeout_seconds = is_checked(GetParam()) && !session ? 0.5 : 20;
        o.cpu_threads = 1;
        return o;
    }
};

struct unit_message {
    std::uint32_t nothing;
};
struct ignore_message {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const unit_message&) const {}
};

/// A task for a block.
struct twice_as_block {
    using arguments = std::uint32_t;
    using result = std::uint32_t;
    static constexpr task_width width = task_width::block;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
        (void)worker.sync(ctx);
        return 2 * n;
    }
};

}  // namespace
}  // namespace laneway::test
