// MPI's rule of matching, one message or receive after the other: what matching engines are held against.
#pragma once

#include <algorithm>
#include <deque>
#include <ostream>

#include "laneway/comm/matching/matching_engine.hpp"

namespace laneway::test {

enum class step_kind : std::uint32_t { arrive, post, probe, cancel };

/// What one lane brings. A warp takes those of one kind together that stand next to each other, `width` at most.
struct match_step {
    step_kind kind = step_kind::arrive;
    match_key key;
    std::uint32_t handle = 0;
    std::uint32_t width = 32;
};

struct step_outcome {
    match_outcome outcome = match_outcome::none;
    std::uint32_t handle = 0;
    match_key key{};

    friend bool operator==(const step_outcome&, const step_outcome&) = default;
    friend std::ostream& operator<<(std::ostream& out, const step_outcome& o) {
        return out << static_cast<unsigned>(o.outcome) << ":" << o.handle << "(" << o.key.source << "," << o.key.tag
                   << ")";
    }
};

/// MPI's rule, word for word.
class sequential_matcher {
public:
    explicit sequential_matcher(const match_rules& rules) : rules_(rules) {}

    step_outcome take(const match_step& step) {
        switch (step.kind) {
            case step_kind::arrive: {
                if (!step.key.is_exact()) return {match_outcome::refused};
                const auto found = std::find_if(posted_.begin(), posted_.end(),
                                                [&](const auto& p) { return p.key.accepts(step.key); });
                if (found != posted_.end()) return taken(posted_, found);
                if (rules_.no_unexpected) return {match_outcome::refused};
                waiting_.push_back({step.handle, step.key});
                return {match_outcome::queued};
            }
            case step_kind::post: {
                if (breaks(step.key)) return {match_outcome::refused};
                const auto found = first_message(step.key);
                if (found != waiting_.end()) return taken(waiting_, found);
                posted_.push_back({step.handle, step.key});
                return {match_outcome::queued};
            }
            case step_kind::probe: {
                if (breaks(step.key)) return {match_outcome::refused};
                const auto found = first_message(step.key);
                if (found == waiting_.end()) return {};
                return {match_outcome::matched, found->handle, found->key};
            }
            default: {
                const auto found = std::find_if(posted_.begin(), posted_.end(), [&](const auto& p) {
                    return p.handle == step.handle && p.key == step.key;
                });
                return found == posted_.end() ? step_outcome{} : taken(posted_, found);
            }
        }
    }
    [[nodiscard]] std::size_t posted() const { return posted_.size(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    struct entry {
        std::uint32_t handle;
        match_key key;
    };
    using entries = std::deque<entry>;

    [[nodiscard]] bool breaks(const match_key& receive) const {
        return (rules_.no_any_source && receive.source == any_source) || (rules_.no_any_tag && receive.tag == any_tag);
    }
    entries::iterator first_message(const match_key& receive) {
        return std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& m) { return receive.accepts(m.key); });
    }
    static step_outcome taken(entries& from, entries::iterator which) {
        const step_outcome o{match_outcome::matched, which->handle, which->key};
        from.erase(which);
        return o;
    }

    match_rules rules_;
    entries posted_, waiting_;
};

}  // namespace laneway::test
