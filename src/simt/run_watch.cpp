#include "laneway/simt/run_watch.hpp"

#include <utility>

namespace laneway {

std::optional<std::size_t> run_watch::await(const std::vector<std::unique_ptr<running>>& runs,
                                            wait_limit& limit) const {
    std::vector<std::size_t> open(runs.size());
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
    bool stopping = false, told = false;
    while (!open.empty()) {
        // The host sleeps in one look of a round, if at all, so a round is short however many PEs there are.
        auto wait = std::chrono::microseconds(200);
        std::erase_if(open, [&](std::size_t i) { return runs[i]->done(std::exchange(wait, {})); });
        if (open.empty()) break;
        if (!stopping && failing()) {
            stopping = told = true;
            stop();
            limit.renew(grace);
        }
        if (!limit.is_over()) continue;
        if (!std::exchange(told, true)) {
            late();
            limit.renew(grace);
            continue;
        }
        for (const std::size_t i : open) {
            if (runs[i]->had_its_chance()) return i;
        }
    }
    return {};
}

}  // namespace laneway
