// Events of Chrome's trace event format, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laneway {

/// A text in the quotes of JSON; bytes that are no UTF-8 become U+FFFD.
std::string json_text(const std::string& text);

/// Members of a JSON object.
class json_members {
public:
    json_members& add(const char* name, std::uint64_t value) { return put(name, std::to_string(value)); }
    json_members& add(const char* name, const std::string& value) { return put(name, json_text(value)); }
    json_members& put(const std::string& name, const std::string& json);  ///< anything that is JSON already
    [[nodiscard]] std::string text() const { return "{" + text_ + "}"; }

private:
    std::string text_;
};

/// Where an event stands: a process and one of its threads, as viewers call them.
struct trace_place {
    int process = 0;
    int thread = 0;
};

/// Collects events; times are nanoseconds since the begin of the trace.
class trace_events {
public:
    void name_process(int process, const std::string& name);
    void name_thread(trace_place place, const std::string& name);
    /// Something that takes time. Two of one place do not overlap, unless one lies within the other.
    void span(trace_place place, const char* category, const std::string& name, std::uint64_t begin_ns,
              std::uint64_t end_ns, const json_members& arguments = {});
    /// Values that hold from here on.
    void counter(int process, const char* name, std::uint64_t time_ns, const json_members& values);

    /// The JSON array: names first, then all in order of time.
    [[nodiscard]] std::string text();

private:
    struct event {
        std::uint64_t time_ns;
        std::uint64_t length_ns;
        std::string text;
    };
    std::vector<std::string> names_;
    std::vector<event> events_;
};

}  // namespace laneway
