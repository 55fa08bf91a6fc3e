#include "symmetric_suite.hpp"  // on CPU devices

namespace laneway::test {
namespace {

/// A lane that notes the scope of its last addition.
class noting_context : public cpu::context {
public:
    using cpu::context::context;
    std::uint64_t fetch_add(std::uint64_t* word, std::uint64_t value, order o, scope s) {
        last = s;
        return cpu::context::fetch_add(word, value, o, s);
    }
    scope last = scope::block;
};

TEST(symmetric_scope_test, AtomicAddReachesLanesOfOtherPesUnlessToldNotTo) {
    std::uint64_t word = 5;
    void* const base = &word;
    pe_environment environment;
    environment.segments = &base;
    noting_context lane(environment, 0, 1, nullptr);
    const symmetric_ref<std::uint64_t> words(0, 1);
    EXPECT_EQ(atomic_add(lane, words[0], 2), 5u);
    EXPECT_EQ(lane.last, scope::system);
    EXPECT_EQ(atomic_add(lane, words[0], 3, scope::device), 7u);
    EXPECT_EQ(lane.last, scope::device);
    EXPECT_EQ(word, 10u);
}

}  // namespace
}  // namespace laneway::test
