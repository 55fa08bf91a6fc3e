// The task type `adder`: as many additions as it is told, for tasks of a length that can be calculated. GeMTC's
// throughput and efficiency are measured with such tasks (section 5.2 of the paper that task_pool.hpp names).
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway::apps {

struct adder {
    struct arguments {
        double first;
        double step;
        std::uint64_t count;
    };
    /// first + (first + step) + ..., `count` of them. Lanes add up one in `lanes` each, so that the rounding depends on
    /// their number.
    using result = double;

    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& given, Worker& worker) const {
        double sum = 0;
        for (auto i = static_cast<std::uint64_t>(worker.lane()); i < given.count;
             i += static_cast<std::uint64_t>(worker.lanes())) {
            sum += given.first + given.step * static_cast<double>(i);
        }
        return warp_sum(ctx, sum);
    }
};

}  // namespace laneway::apps
