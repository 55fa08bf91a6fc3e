#include "laneway/input/byte_stream.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "unit/compressed_samples.hpp"
#include "unit/test_files.hpp"

namespace laneway {
namespace {

/// All bytes of a file, asked for in steps of `step`.
std::string bytes_of(const std::filesystem::path& path, std::size_t step) {
    const auto stream = open_stream(path);
    std::string all(1000, '\0');
    std::size_t size = 0;
    for (std::size_t taken = step; taken == step; size += taken) taken = stream->read(all.data() + size, step);
    return all.substr(0, size);
}

std::string rejection(const std::filesystem::path& path) {
    try {
        (void)bytes_of(path, 7);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "not rejected";
}

/// Whether the build lacks the library for this kind of file.
bool not_in_this_build(const std::string& message) { return message.find("this build reads no") != std::string::npos; }

class byte_stream_test : public testing::Test {
protected:
    test::scratch_directory files_;
};

TEST_F(byte_stream_test, EveryStepGivesTheSameBytes) {
    const std::string text(test::triangle_text);
    for (const std::string_view packed : {test::triangle_text, test::triangle_gzip, test::triangle_xz}) {
        const auto path = files_.write("a", packed);
        if (not_in_this_build(rejection(path))) continue;
        for (const std::size_t step : {1, 2, 7, 33, 34, 500}) EXPECT_EQ(bytes_of(path, step), text) << step;
    }
}

TEST_F(byte_stream_test, ShortFilesArePlain) {
    EXPECT_EQ(bytes_of(files_.write("empty", ""), 10), "");
    EXPECT_EQ(bytes_of(files_.write("short", "ab"), 1), "ab");
    EXPECT_EQ(bytes_of(files_.write("magic", "\xfd"), 8), "\xfd");
}

TEST_F(byte_stream_test, PartsInARowAreOneFile) {
    const std::string text(test::triangle_text);
    for (const std::string& part : {std::string(test::triangle_gzip), std::string(test::triangle_xz)}) {
        const auto path = files_.write("a", part + part);
        if (not_in_this_build(rejection(path))) continue;
        EXPECT_EQ(bytes_of(path, 13), text + text);
    }
}

TEST_F(byte_stream_test, EveryCutIsNoticed) {
    for (const std::string& whole : {std::string(test::triangle_gzip), std::string(test::triangle_xz)}) {
        if (not_in_this_build(rejection(files_.write("a", whole)))) continue;
        for (std::size_t size = 6; size < whole.size(); ++size) {
            EXPECT_NE(rejection(files_.write("a", whole.substr(0, size))).find("is cut off"), std::string::npos)
                << size;
        }
    }
}

TEST_F(byte_stream_test, APipeIsReadAsItsWriterGoesOn) {
    const auto pipe = files_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::jthread writer([&] {
        std::ofstream out(pipe);
        for (int i = 0; i < 1000; ++i) out << "some words\n" << std::flush;
    });
    const auto stream = open_stream(pipe);
    std::string text(20'000, '\0');
    EXPECT_EQ(stream->read(text.data(), text.size()), 11'000u);
}

TEST_F(byte_stream_test, AWaitForAWriterCanBeLeft) {
    const auto pipe = files_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    int asked = 0;
    const interruption leave([&] {
        if (++asked == 3) throw interrupted("enough");
    });
    EXPECT_THROW((void)open_stream(pipe), interrupted);
}

TEST_F(byte_stream_test, AWaitThatCannotBeHadIsToldInPlaceOfRepeated) {
    const auto stream = open_stream(files_.write("a", std::string(100, 'a')));
    int asked = 0;
    const interruption leave([&] {
        if (++asked == 3) throw interrupted("repeated");
    });
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;  // poll() refuses to look at more files than these
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    std::string what, text(100, '\0');
    try {
        (void)stream->read(text.data(), text.size());
    } catch (const error& e) {
        what = e.what();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(what, "cannot be read: invalid argument");
}

TEST_F(byte_stream_test, WhatIsNoFileIsRefused) {
    EXPECT_EQ(rejection(files_.path()), "is a directory");
    EXPECT_EQ(rejection(files_ / "missing"), "no such file or directory");
}

}  // namespace
}  // namespace laneway
