#include "laneway/comm/server.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace laneway {
namespace {

// Each ticket of each source must be looked at by exactly one warp, in steps that no two lines share.
TEST(service_stripes_test, EveryTicketOfEverySourceHasOneLine) {
    for (int pes = 2; pes <= 9; ++pes) {
        for (int warps = 1; warps <= 20; ++warps) {
            for (int me = 0; me < pes; ++me) {
                const service_stripes lines(pes, warps);
                EXPECT_GE(lines.count(), pes - 1);
                std::map<int, std::set<int>> residues;
                for (int line = 0; line < lines.count(); ++line) {
                    EXPECT_NE(lines.source(line, me), me);
                    EXPECT_TRUE(residues[lines.source(line, me)].insert(lines.residue(line)).second);
                }
                EXPECT_EQ(residues.size(), static_cast<std::size_t>(pes - 1));
                for (const auto& [source, of_source] : residues) {
                    EXPECT_TRUE(source >= 0 && source < pes);
                    EXPECT_EQ(*of_source.begin(), 0);
                    EXPECT_EQ(*of_source.rbegin(), lines.residues - 1);
                    EXPECT_EQ(of_source.size(), static_cast<std::size_t>(lines.residues));
                }
            }
        }
    }
}

TEST(service_stripes_test, ALonePeHasNone) { EXPECT_EQ(service_stripes(1, 5).count(), 0); }

}  // namespace
}  // namespace laneway
