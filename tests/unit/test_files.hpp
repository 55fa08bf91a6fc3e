// Files for tests: written by a test, or shared data where they are at hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "laneway/input/byte_stream.hpp"

namespace laneway::test {

/// A directory that lives as long as the object.
class scratch_directory {
public:
    scratch_directory() {
        std::string name = (std::filesystem::temp_directory_path() / "laneway-test-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error("no scratch directory at " + name);
        path_ = name;
    }
    ~scratch_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    std::filesystem::path write(std::string_view name, std::string_view content) const {
        const auto file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
        return file;
    }

    /// Unpacks a tar archive, compressed or not.
    void unpack(const std::filesystem::path& archive) const {
        const auto stream = open_stream(archive);
        std::string head(512, '\0');
        while (stream->read(head.data(), head.size()) == head.size() && head[0] != '\0') {
            const std::size_t size = std::stoull(head.substr(124, 11), nullptr, 8);
            std::string content((size + 511) / 512 * 512, '\0');
            stream->read(content.data(), content.size());
            if (head[156] == '0') write(head.c_str(), std::string_view(content).substr(0, size));
        }
    }

private:
    std::filesystem::path path_;
};

/// A file of the shared data; empty path where they are not at hand.
inline std::filesystem::path shared_data(std::string_view name) {
    const char* from_environment = std::getenv("LANEWAY_SHARED_DATA");
    const std::filesystem::path directory = from_environment ? from_environment : LANEWAY_SHARED_DATA;
    const auto file = directory / name;
    return std::filesystem::exists(file) ? file : std::filesystem::path();
}

#define LANEWAY_NEED_SHARED_DATA(variable, name)              \
    const auto variable = ::laneway::test::shared_data(name); \
    if (variable.empty()) GTEST_SKIP() << "shared data not at hand: " << (name)

}  // namespace laneway::test
