// What the benchmark programs share: arguments, medians, one JSON object a line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"

namespace laneway::bench {

/// "--name value" pairs; every name must be known.
class arguments {
public:
    arguments(int argc, char** argv, std::map<std::string, std::string> defaults) : values_(std::move(defaults)) {
        for (int i = 1; i < argc; i += 2) {
            const std::string name = argv[i];
            if (name.rfind("--", 0) != 0 || i + 1 >= argc || values_.count(name.substr(2)) == 0) {
                throw usage_error("unknown or incomplete argument " + name);
            }
            values_[name.substr(2)] = argv[i + 1];
        }
    }
    [[nodiscard]] const std::string& text(const std::string& name) const { return values_.at(name); }
    [[nodiscard]] std::uint64_t number(const std::string& name) const { return std::stoull(values_.at(name)); }
    [[nodiscard]] double real(const std::string& name) const { return std::stod(values_.at(name)); }
    [[nodiscard]] std::vector<std::string> list(const std::string& name, char separator = ';') const {
        std::vector<std::string> parts;
        std::string part;
        for (const char c : values_.at(name) + separator) {
            if (c != separator) {
                part += c;
            } else if (!part.empty()) {
                parts.push_back(std::exchange(part, {}));
            }
        }
        return parts;
    }

private:
    std::map<std::string, std::string> values_;
};

struct spread {
    double least = 0;
    double median = 0;
    double most = 0;
};

inline spread spread_of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return {samples.front(), samples[samples.size() / 2], samples.back()};
}

/// Appends one JSON object a line to a file; an empty path writes nothing.
class json_lines {
public:
    explicit json_lines(const std::string& path) {
        if (path.empty()) return;
        file_.open(path, std::ios::app);
        if (!file_) throw usage_error(path + ": cannot be written");
    }
    void write(const std::vector<std::pair<std::string, std::string>>& text,
               const std::vector<std::pair<std::string, double>>& numbers) {
        if (!file_.is_open()) return;
        std::string line = "{";
        for (const auto& [name, value] : text) line += "\"" + name + "\": \"" + value + "\", ";
        char digits[64];
        for (const auto& [name, value] : numbers) {
            std::snprintf(digits, sizeof digits, "%.9g", value);
            line += "\"" + name + "\": " + digits + ", ";
        }
        line.resize(line.size() - 2);
        file_ << line << "}\n" << std::flush;
    }

private:
    std::ofstream file_;
};

}  // namespace laneway::bench
