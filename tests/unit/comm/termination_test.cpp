#include "termination_suite.hpp"  // on CPU devices

namespace laneway::test {
namespace {

TEST(termination_tree_test, EveryPeButTheFirstIsTheChildOfOneBeforeIt) {
    for (const int n : {1, 2, 33, 34, 65, 1057, 1058, 2000}) {
        std::vector<int> parents(static_cast<std::size_t>(n), -1);
        for (int pe = 0; pe < n; ++pe) {
            for (int i = 0; i < termination_tree::children(pe, n); ++i) {
                const int child = termination_tree::first_child(pe) + i;
                ASSERT_LT(child, n);
                ASSERT_GT(child, pe);
                ASSERT_EQ(parents[static_cast<std::size_t>(child)], -1) << "two parents";
                ASSERT_EQ(termination_tree::parent(child), pe);
                parents[static_cast<std::size_t>(child)] = pe;
            }
        }
        EXPECT_EQ(std::count(parents.begin(), parents.end(), -1), 1) << n << " PEs";
    }
}

// Three PEs are PE 1's children.
INSTANTIATE_TEST_SUITE_P(two_levels, termination_test, testing::Values("cpu:36", "checked:36"), name_of);

}  // namespace
}  // namespace laneway::test
