#include "run/trigger_circles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace laneway {

namespace {

/// Tags of all PEs in one row, and where their links lead.
class tag_graph {
public:
    explicit tag_graph(const std::vector<std::vector<trigger_slot>>& slots) : slots_(slots), tags_(slots[0].size()) {}

    [[nodiscard]] std::size_t size() const { return slots_.size() * tags_; }
    [[nodiscard]] const trigger_slot& at(std::size_t tag) const { return slots_[tag / tags_][tag % tags_]; }
    [[nodiscard]] std::uint32_t threshold(std::size_t tag) const { return trigger_word{at(tag).word}.threshold(); }
    /// Whether the tag has an operation for each round.
    [[nodiscard]] bool goes_on(std::size_t tag) const {
        return threshold(tag) != 0 && !trigger_word{at(tag).word}.fires_once();
    }
    [[nodiscard]] int links(std::size_t tag) const { return goes_on(tag) ? at(tag).operation.n_links() : 0; }
    [[nodiscard]] const trigger_link& link(std::size_t tag, int i) const { return at(tag).operation.link(i); }
    [[nodiscard]] std::size_t target(const trigger_link& link) const {
        return static_cast<std::size_t>(link.pe) * tags_ + link.tag;
    }
    [[nodiscard]] std::string name(std::size_t tag) const {
        return name_of_tag(static_cast<int>(tag / tags_), static_cast<std::uint32_t>(tag % tags_));
    }

private:
    const std::vector<std::vector<trigger_slot>>& slots_;
    std::size_t tags_;
};

/// On a path through the graph.
struct step {
    std::size_t tag;
    int next = 0;  ///< link
};

/// Finds a circle of operations of which each reaches the next one's threshold by itself.
class circle_search {
public:
    explicit circle_search(const tag_graph& graph) : graph_(graph), states_(graph.size(), unknown) {}

    /// Its tags; empty where there is none.
    std::vector<std::size_t> operator()() {
        for (std::size_t tag = 0; tag < states_.size(); ++tag) {
            if (states_[tag] != unknown || !graph_.at(tag).set_off()) continue;
            const auto found = follow(tag);
            if (!found.empty()) return found;
        }
        return {};
    }

private:
    enum state : std::uint8_t { unknown, on_path, left };

    /// Depth first, from a tag on.
    std::vector<std::size_t> follow(std::size_t first) {
        std::vector<step> path{{first}};
        states_[first] = on_path;
        while (!path.empty()) {
            step& last = path.back();
            if (last.next == graph_.links(last.tag)) {
                states_[last.tag] = left;
                path.pop_back();
                continue;
            }
            const trigger_link& link = graph_.link(last.tag, last.next++);
            const std::size_t next = graph_.target(link);
            const std::uint32_t threshold = graph_.threshold(next);
            // Round for ever goes what has been set off since it was prepared, each of the circle.
            if (threshold == 0 || link.n < threshold || !graph_.at(next).set_off() || states_[next] == left) continue;
            if (states_[next] == on_path) return since(path, next);
            states_[next] = on_path;
            path.push_back({next});
        }
        return {};
    }
    static std::vector<std::size_t> since(const std::vector<step>& path, std::size_t tag) {
        std::vector<std::size_t> circle;
        for (const step& s : path) {
            if (!circle.empty() || s.tag == tag) circle.push_back(s.tag);
        }
        return circle;
    }

    const tag_graph& graph_;
    std::vector<state> states_;
};

/// Finds operations of which each leads to all others (strongly connected components, after Tarjan, 1972), and which
/// together go on for ever: several may have to reach a threshold.
class set_search {
public:
    explicit set_search(const tag_graph& graph) : graph_(graph), places_(graph.size()), triggers_(graph.size(), 0.0) {}

    /// Its tags; empty where there is none.
    std::vector<std::size_t> operator()() {
        for (std::size_t tag = 0; tag < places_.size(); ++tag) {
            if (!takes_part(tag) || places_[tag].entered != 0) continue;
            const auto found = follow(tag);
            if (!found.empty()) return found;
        }
        return {};
    }

private:
    struct place {
        std::size_t entered = 0;  ///< as which one; 0: not yet
        std::size_t lowest = 0;   ///< that it leads to, of those that are kept
        bool kept = false;        ///< its set is not complete
    };

    [[nodiscard]] bool takes_part(std::size_t tag) const { return graph_.goes_on(tag) && graph_.at(tag).set_off(); }

    std::vector<std::size_t> follow(std::size_t first) {
        std::vector<step> path;
        enter(path, first);
        while (!path.empty()) {
            step& last = path.back();
            place& mine = places_[last.tag];
            if (last.next < graph_.links(last.tag)) {
                const std::size_t next = graph_.target(graph_.link(last.tag, last.next++));
                if (places_[next].kept) mine.lowest = std::min(mine.lowest, places_[next].entered);
                if (places_[next].entered == 0 && takes_part(next)) enter(path, next);
                continue;
            }
            const std::size_t tag = last.tag;
            path.pop_back();
            if (mine.lowest == mine.entered) {
                const auto set = take_set(tag);
                if (lasts(set)) return set;
            } else {  // so it is not the first of its set
                place& before = places_[path.back().tag];
                before.lowest = std::min(before.lowest, mine.lowest);
            }
        }
        return {};
    }
    void enter(std::vector<step>& path, std::size_t tag) {
        places_[tag] = {++entered_, entered_, true};
        kept_.push_back(tag);
        path.push_back({tag});
    }
    /// In the order in which they were entered, of which `first` is the first.
    std::vector<std::size_t> take_set(std::size_t first) {
        const auto begin = std::find(kept_.rbegin(), kept_.rend(), first).base() - 1;
        const std::vector<std::size_t> set(begin, kept_.end());
        kept_.erase(begin, kept_.end());
        for (const std::size_t tag : set) places_[tag].kept = false;
        return set;
    }

    /// Whether a round of the first tag brings it, through the others, as many triggers as a round of it takes: where
    /// fewer come back, the set comes to rest by itself. Counted in parts of rounds, as they are on an average.
    bool lasts(const std::vector<std::size_t>& set) {
        constexpr double rounding = 1e-9;
        constexpr std::size_t max_steps = 20'000'000;
        const double wanted = graph_.threshold(set[0]) * (1 - rounding);
        for (const std::size_t tag : set) places_[tag].kept = true;
        double moved = send(set[0], 1);
        for (std::size_t steps = 0; moved > rounding && triggers_[set[0]] < wanted && steps < max_steps;
             steps += set.size()) {
            moved = 0;
            for (std::size_t i = 1; i < set.size(); ++i) {
                const double rounds = triggers_[set[i]] / graph_.threshold(set[i]);
                triggers_[set[i]] = 0;
                moved += send(set[i], rounds);
            }
        }
        for (const std::size_t tag : set) places_[tag].kept = false;
        return triggers_[set[0]] >= wanted;
    }
    /// What so many rounds of a tag trigger within its set. Returns the rounds.
    double send(std::size_t tag, double rounds) {
        for (int i = 0; i < graph_.links(tag); ++i) {
            const trigger_link& link = graph_.link(tag, i);
            const std::size_t next = graph_.target(link);
            if (places_[next].kept) triggers_[next] += rounds * link.n;
        }
        return rounds;
    }

    const tag_graph& graph_;
    std::vector<place> places_;
    std::vector<std::size_t> kept_;
    std::size_t entered_ = 0;
    std::vector<double> triggers_;
};

/// The first of them, and how many more.
std::string listed(const tag_graph& graph, const std::vector<std::size_t>& tags, const std::string& between) {
    constexpr std::size_t most = 16;
    std::string text;
    for (std::size_t i = 0; i < tags.size() && i < most; ++i) text += (i == 0 ? "" : between) + graph.name(tags[i]);
    if (tags.size() > most) text += between + std::to_string(tags.size() - most) + " more";
    return text;
}

}  // namespace

std::string name_of_tag(int pe, std::uint32_t tag) {
    return "tag " + std::to_string(tag) + " of PE " + std::to_string(pe);
}

std::string circles_without_end(const std::vector<std::vector<trigger_slot>>& slots) {
    const tag_graph graph(slots);
    circle_search search(graph);
    const auto circle = search();
    if (!circle.empty()) {
        return "; operations in a circle without end: " + listed(graph, circle, " -> ") + " -> " +
               graph.name(circle[0]);
    }
    const auto set = set_search(graph)();
    return set.empty() ? "" : "; operations in circles without end: " + listed(graph, set, ", ");
}

}  // namespace laneway
