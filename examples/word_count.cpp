// How often does each word stand in a text? Host threads read it and post words to devices that keep the counts, while
// others ask: the program stays on the devices for as long as the session lasts. The answer is the same on any devices.
//
// Usage: word_count [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace {

const char* const text =
    "the sea was calm and the wind was fair and the men slept and the watch sang to the stars and to the dark";
constexpr std::uint64_t slots = 4096;  // of a device's table; words of one slot count as one
constexpr int readers = 3, times_read = 50;

struct word {
    std::uint64_t hash;
};
struct question {
    std::uint64_t hash;
};

/// Runs on the device that owns the word.
struct count_word {
    lw::symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const word& w) const {
        lw::atomic_add(ctx, table[w.hash % slots], 1);
    }
};
struct tell_count {
    using answer = std::uint64_t;  // what it returns is what session.call returns
    lw::symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const question& q) const {
        return lw::atomic_add(ctx, table[q.hash % slots], 0);
    }
};

std::uint64_t hash_of(const std::string& w) {
    std::uint64_t hash = 14695981039346656037u;  // Fowler, Noll and Vo
    for (const char c : w) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

int owner_of(std::uint64_t hash, int pes) { return static_cast<int>(hash / slots % static_cast<unsigned>(pes)); }

/// What a host thread does.
template <class Session>
void read(Session& session, int pes) try {
    for (int i = 0; i < times_read; ++i) {
        std::istringstream words(text);
        for (std::string w; words >> w;) {
            const std::uint64_t hash = hash_of(w);
            session.post(owner_of(hash, pes), word{hash});
        }
    }
} catch (const lw::error&) {
    // The session has failed, and says so at its next call as well.
}

void count(lw::runtime& runtime) {
    const auto table = runtime.allocate<std::uint64_t>(slots);
    auto session = runtime.start(runtime.mailbox<word, question>(count_word{table.ref()}, tell_count{table.ref()}));
    std::vector<std::thread> threads;
    for (int i = 0; i < readers; ++i) threads.emplace_back([&] { read(session, runtime.n_pes()); });
    for (auto& t : threads) t.join();
    session.quiesce();  // all that has been posted is counted
    for (const std::string w : {"the", "and", "stars", "moon"}) {
        const std::uint64_t hash = hash_of(w);
        std::cout << w << ' ' << session.call(owner_of(hash, runtime.n_pes()), question{hash}) << '\n';
    }
    std::cout << session.stop().posted << " messages\n";
}

}  // namespace

int main(int argc, char** argv) try {
    lw::options options;
    if (argc > 1) options.devices = argv[1];
    lw::runtime runtime(options);
    count(runtime);
} catch (const lw::error& error) {
    std::cerr << "word_count: " << error.what() << '\n';
    return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
}
