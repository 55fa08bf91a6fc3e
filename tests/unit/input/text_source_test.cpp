#include "laneway/input/text_source.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "unit/test_files.hpp"

namespace laneway {
namespace {

class text_source_test : public testing::Test {
protected:
    std::vector<std::string> lines_of(std::string_view content) {
        text_source source(files_.write("a.txt", content), true);
        std::vector<std::string> lines;
        for (std::string_view line; source.next_line(line);) lines.emplace_back(line);
        return lines;
    }
    /// What is wrong after `lines` lines have been read; without the folder.
    std::string message(std::string_view content, int lines) {
        const auto path = files_.write("a.txt", content);
        try {
            text_source source(path);
            std::string_view line;
            for (int i = 0; i < lines; ++i) EXPECT_TRUE(source.next_line(line));
            source.fail("wrong");
        } catch (const usage_error& e) {
            return std::string(e.what()).substr(files_.path().string().size() + 1);
        }
    }
    test::scratch_directory files_;
};

TEST_F(text_source_test, LinesEndInEveryWay) {
    using list = std::vector<std::string>;
    EXPECT_EQ(lines_of("a\nbc\n"), (list{"a", "bc"}));
    EXPECT_EQ(lines_of("a\r\n\r\nbc"), (list{"a", "", "bc"}));
    EXPECT_EQ(lines_of("\n"), (list{""}));
    EXPECT_EQ(lines_of(""), list{});
}

TEST_F(text_source_test, LinesCrossBlocksAndMayBeLonger) {
    for (const std::size_t length : {255 * 1024, 256 * 1024, 700 * 1024}) {
        const std::string line(length, 'x');
        EXPECT_EQ(lines_of("ab\n" + line + "\ncd\n"), (std::vector<std::string>{"ab", line, "cd"})) << length;
    }
}

TEST_F(text_source_test, FailuresNameFileAndLine) {
    EXPECT_EQ(message("a\nb\nc\n", 0), "a.txt: wrong");
    EXPECT_EQ(message("a\nb\nc\n", 2), "a.txt:2: wrong");
    EXPECT_EQ(message("", 0), "a.txt: the file is empty");
    EXPECT_EQ(message(std::string_view("a\0b", 3), 0), "a.txt: is neither text nor gzip nor xz");
}

TEST_F(text_source_test, ALineThatIsTooLongIsNamed) {
    constexpr std::size_t limit = 512 * 1024;
    const std::string fits(limit - 1, 'x'), too_long(limit + 1, 'x');
    const auto read = [&](const std::string& content) {
        const auto path = files_.write("a.txt", content);
        try {
            text_source source(path, false, limit);
            for (std::string_view line; source.next_line(line);) {
            }
        } catch (const usage_error& e) {
            return std::string(e.what()).substr(files_.path().string().size() + 1);
        }
        return std::string();
    };
    EXPECT_EQ(read(fits + "\n" + fits + "\na\n"), "");
    EXPECT_EQ(read(too_long), "a.txt:1: the line is longer than 524288 bytes");
    EXPECT_EQ(read("a\nb\n" + too_long + "\nc\n"), "a.txt:3: the line is longer than 524288 bytes");
}

TEST_F(text_source_test, TokensAreShownInOneShortLine) {
    EXPECT_EQ(shown("abc"), "'abc'");
    EXPECT_EQ(shown("a\tb\xff"), "'a?b?'");
    EXPECT_EQ(shown(std::string(50, 'x')), "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace laneway
