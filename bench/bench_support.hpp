// What the benchmark programs share: arguments, medians, one JSON object a line.
#pragma once

#include <algorithm>
#include <charconv>
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
    /// Throws usage_error for what is no whole number within these bounds.
    [[nodiscard]] std::uint64_t number(const std::string& name, std::uint64_t least = 0,
                                       std::uint64_t most = ~std::uint64_t{0}) const {
        return whole_number(name, values_.at(name), least, most);
    }
    /// Throws usage_error for what is no number, or none of a reasonable size.
    [[nodiscard]] double real(const std::string& name) const {
        const std::string& text = values_.at(name);
        double value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failed == std::errc{} && end == text.data() + text.size() && value >= 0 && value < 1e18) return value;
        throw usage_error(name + ": a number from 0 to 1e18, not \"" + text + "\"");
    }
    /// The same for each part of a list.
    [[nodiscard]] std::vector<std::uint64_t> numbers(const std::string& name, char separator, std::uint64_t least,
                                                     std::uint64_t most) const {
        std::vector<std::uint64_t> made;
        for (const std::string& part : list(name, separator)) made.push_back(whole_number(name, part, least, most));
        return made;
    }
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
    static std::uint64_t whole_number(const std::string& name, const std::string& text, std::uint64_t least,
                                      std::uint64_t most) {
        std::uint64_t value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = failed == std::errc{} && end == text.data() + text.size();
        if (whole && value >= least && value <= most) return value;
        throw usage_error(name + ": a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                          ", not \"" + text + "\"");
    }

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
