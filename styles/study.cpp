#include "styles/study.hpp"

#include <chrono>

#include "laneway/base/error.hpp"
#include "styles/gups/study.hpp"
#include "styles/kmer/study.hpp"
#include "styles/pagerank/study.hpp"

namespace laneway::styles {

namespace {

const char* const names[n_styles] = {"coprocessor", "direct", "coalesced", "coalesced_aggregated", "laneway"};

}  // namespace

std::string to_string(style s) { return names[static_cast<int>(s)]; }

style parse_style(const std::string& text) {
    for (int i = 0; i < n_styles; ++i) {
        if (text == names[i]) return static_cast<style>(i);
    }
    throw usage_error("style must be coprocessor, direct, coalesced, coalesced_aggregated or laneway, not " + text);
}

std::unique_ptr<study> study::open(const std::string& program, const study_options& options) {
    if (options.log2_messages < 8 || options.log2_messages > 30) {
        throw usage_error("log2_messages must be from 8 to 30, not " + std::to_string(options.log2_messages));
    }
    if (options.round_messages == 0 || options.round_messages > std::uint64_t{1} << 30) {
        throw usage_error("round_messages must be from 1 to 2^30, not " + std::to_string(options.round_messages));
    }
    if (program == "gups") return open_gups(options);
    if (program == "kmer") return open_kmer(options);
    if (program == "pagerank") return open_pagerank(options);
    throw usage_error("program must be gups, kmer or pagerank, not " + program);
}

std::vector<double> study::measure(style which, int runs) {
    prepare(which);
    std::vector<double> seconds;
    for (int i = 0; i <= runs; ++i) {
        reset();
        const auto start = std::chrono::steady_clock::now();
        run();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        if (i > 0) seconds.push_back(elapsed.count());
        const std::string wrong = difference();
        if (!wrong.empty()) throw device_fault("style " + to_string(which) + ": " + wrong);
    }
    return seconds;
}

}  // namespace laneway::styles
