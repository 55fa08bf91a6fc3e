#include "laneway/simt/device_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "laneway/base/error.hpp"

namespace laneway {
namespace {

std::string names(const std::string& list) {
    std::string text;
    for (const auto& id : parse_devices(list)) text += (text.empty() ? "" : " ") + to_string(id);
    return text;
}

std::size_t gpus() {
    const auto found = find_devices();
    return static_cast<std::size_t>(std::count_if(
        found.begin(), found.end(), [](const device_finding& d) { return d.usable && d.name.starts_with("cuda:"); }));
}

TEST(device_list_test, CountsCpuDevicesThroughTheWholeList) {
    EXPECT_EQ(names("cpu:1"), "cpu:0");
    EXPECT_EQ(names("cpu:3"), "cpu:0 cpu:1 cpu:2");
    EXPECT_EQ(names("cpu:1,cpu:2"), "cpu:0 cpu:1 cpu:2");
    EXPECT_EQ(names("checked:2"), "checked:0 checked:1");
    EXPECT_EQ(names("checked"), "checked:0 checked:1");
    EXPECT_EQ(names("checked:1,checked:1"), "checked:0 checked:1");
}

TEST(device_list_test, BareCpuIsOneDeviceACore) {
    EXPECT_EQ(parse_devices("cpu").size(), std::max(1u, std::thread::hardware_concurrency()));
}

TEST(device_list_test, EmptyTakesGpusBeforeCpus) {
    const auto list = parse_devices("");
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list[0].kind, gpus() > 0 ? device_kind::cuda : device_kind::cpu);
}

class bad_list_test : public testing::TestWithParam<std::string> {};

TEST_P(bad_list_test, IsRefusedInOneLineThatQuotesIt) {
    try {
        parse_devices(GetParam());
    } catch (const usage_error& e) {
        const std::string what = e.what();
        EXPECT_EQ(what.find('\n'), std::string::npos);
        EXPECT_EQ(what.rfind("devices: ", 0), 0u) << what;
        return;
    }
    FAIL() << "accepted \"" << GetParam() << "\"";
}

INSTANTIATE_TEST_SUITE_P(lists, bad_list_test,
                         testing::Values(",", "cpu,", ",cpu", "cpu,,cpu", " cpu", "cpu ", "CPU", "gpu", "gpu:0",
                                         "cpu:", "cpu:0", "cpu:-1", "cpu:+1", "cpu:1.5", "cpu:2x", "cpu:x", "cpu: 2",
                                         "cpu:0x2", "cpu:1025", "cpu:513,cpu:512", "cpu:99999999999999999999",
                                         "cpu:1:2", "cpu:1-2", "cpu2", "checked:0", "checked:1025",
                                         "checked:", "checked:2,cpu:1", "cpu:1,checked:2", "cuda:", "cuda:-1", "cuda:x",
                                         "cuda:0-", "cuda:1-0", "cuda:0-x", "cuda:9999", "cuda:0-9999", "cuda:0,cuda:0",
                                         "cuda,cuda", "cuda:99999999999", "cuda:0;1", "\n", "cpu\n"));

TEST(device_list_test, AMissingNameIsToldWithTheWholeList) {
    for (const char* const list : {"cpu:2,", ",cpu:2", "cpu,,cpu"}) {
        try {
            parse_devices(list);
            FAIL() << list;
        } catch (const usage_error& e) {
            EXPECT_NE(std::string(e.what()).find(list), std::string::npos) << e.what();
        }
    }
}

TEST(device_list_test, MissingGpuSaysWhyThereIsNone) {
    if (gpus() > 0) {
        EXPECT_EQ(parse_devices("cuda").size(), gpus());
        return;
    }
    try {
        parse_devices("cuda");
        FAIL();
    } catch (const usage_error& e) {
        const auto found = find_devices();
        EXPECT_NE(std::string(e.what()).find(found[0].reason), std::string::npos) << e.what();
    }
}

TEST(device_list_test, FindingsNameEveryKindAndExplainWhatIsMissing) {
    bool cuda = false, cpu = false, checked = false;
    for (const auto& d : find_devices()) {
        cuda = cuda || d.name.starts_with("cuda");
        cpu = cpu || d.name == "cpu";
        checked = checked || d.name == "checked";
        EXPECT_EQ(d.usable, d.reason.empty()) << d.name;
        EXPECT_FALSE(d.description.empty()) << d.name;
    }
    EXPECT_TRUE(cuda && cpu && checked);
}

}  // namespace
}  // namespace laneway
