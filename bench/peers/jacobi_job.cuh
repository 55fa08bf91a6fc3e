// What is computed by the Jacobi stencils of this folder, what must come of it, and how its times are told: as by
// bench_jacobi.
#pragma once

#include "jacobi_part.cuh"
#include "style_times.hpp"

namespace laneway::bench {

struct jacobi_job {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t steps = 0;
    std::uint64_t runs = 0;
    std::string json;              ///< a file's name
    std::vector<double> expected;  ///< values of one thread of the host

    void show(const style_times& times, int pes, const char* style) const {
        json_lines lines(json);
        times.show("jacobi", gpu_names(pes), style,
                   {{"rows", static_cast<double>(rows)},
                    {"columns", static_cast<double>(columns)},
                    {"steps", static_cast<double>(steps)}},
                   lines);
    }
};

inline std::map<std::string, std::string> jacobi_arguments() {
    return {{"pes", "1"},  {"rows", "1024"},   {"columns", "1024"}, {"steps", "200"},
            {"runs", "5"}, {"timeout", "120"}, {"json", ""}};
}

/// Calls `run(pes, job)` for each number of GPUs. `rows` are those of all GPUs.
template <class Run>
void for_each_jacobi(const arguments& args, Run&& run) {
    jacobi_job job{.rows = args.number("rows", 1, 1u << 20),
                   .columns = args.number("columns", 1, 1u << 20),
                   .steps = args.number("steps", 1, 1u << 30),
                   .runs = args.number("runs", 1, 1000),
                   .json = args.text("json")};
    job.expected = apps::jacobi_by_one(job.rows, job.columns, job.steps);
    for (const std::uint64_t pes : args.numbers("pes", ';', 1, 64)) {
        if (job.rows % pes != 0) throw usage_error("the rows cannot be shared out evenly");
        run(static_cast<int>(pes), job);
    }
}

}  // namespace laneway::bench
