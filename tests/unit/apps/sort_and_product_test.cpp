#include "sort_and_product_suite.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

/// Elements that twelve rounds of `run` put back on one checked PE, where every element goes through them.
template <class Run>
std::uint64_t yields_of(std::uint32_t least, Run&& run) {
    std::uint64_t yields = 0;
    repeat_rounds("checked:1", checked_seeds, [&](const options& o) {
        const apps::recursion_report did = run(narrowest(o, least));
        EXPECT_EQ(did.width, std::bit_ceil(least));
        EXPECT_EQ(did.channels.kept, 0u);
        yields += did.channels.yields;
    });
    return yields;
}

TEST(least_width_test, SortsPutBackWhatFindsNoRoom) {
    auto sorted = random_words(300, 1);
    const auto keys = sorted;
    std::sort(sorted.begin(), sorted.end());
    const auto sort = [&](apps::recursion_options narrowed) {
        narrowed.grain = 4;
        const auto made = apps::merge_sort(keys, narrowed);
        EXPECT_EQ(made.keys, sorted);
        return made.report;
    };
    EXPECT_GT(yields_of(8, sort), 0u);
}

/// Blocks of lanes, and of whole blocks, whose tiles have a channel of their own.
TEST(least_width_test, ProductsPutBackWhatFindsNoRoom) {
    for (const std::uint32_t grain : {1u, 32u}) {
        const std::uint32_t n = 4 * grain;
        const auto a = random_words(std::uint64_t{n} * n, 1), b = random_words(std::uint64_t{n} * n, 2);
        const apps::word_matrix expected = apps::product_by_definition(a, b, n);
        const auto multiply = [&](apps::recursion_options narrowed) {
            narrowed.grain = grain;
            const auto made = apps::strassen(a, b, n, narrowed);
            EXPECT_EQ(made.product, expected);
            return made.report;
        };
        EXPECT_GT(yields_of(7, multiply), 0u) << "grain " << grain;
    }
}

TEST(least_width_test, TilesOfOneProductHaveToFit) {
    const apps::word_matrix ones(1024 * 1024, 1);
    apps::recursion_options options;
    options.job.devices = "cpu:1";
    options.grain = 1024;
    options.width = 8;
    EXPECT_EQ(thrown<usage_error>([&] { (void)apps::strassen(ones, ones, 1024, options); }),
              "a width of 8 is below the minimum, 32: a function spawns so many at once");
    options.width = 0;
    options.memory_bytes = 100;
    const std::string refused = thrown<usage_error>([&] { (void)apps::strassen(ones, ones, 1024, options); });
    EXPECT_NE(refused.find("100 bytes for channels are below the minimum, "), std::string::npos) << refused;
    EXPECT_NE(refused.find(" of 32 elements of 2 functions"), std::string::npos) << refused;
}

}  // namespace
}  // namespace laneway::test
