#include "trace_events.hpp"

#include <algorithm>
#include <cstdio>

namespace laneway {

namespace {

/// Bytes of the UTF-8 letter that stands at `at`; 0 where there is none.
std::size_t letter_bytes(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(at), second = byte(at + 1);
    const std::size_t bytes = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >> 4 == 0xe ? 3 : 4;
    if (bytes == 1) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    for (std::size_t i = 1; i < bytes; ++i) {
        if (byte(at + i) >> 6 != 2) return 0;
    }
    // Longer than needed, a surrogate, or beyond the last letter.
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
    return bytes;
}

/// Microseconds, as the format has them.
std::string microseconds(std::uint64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%llu.%03u", static_cast<unsigned long long>(ns / 1000),
                  static_cast<unsigned>(ns % 1000));
    return text;
}

std::string place_text(trace_place place) {
    return ",\"pid\":" + std::to_string(place.process) + ",\"tid\":" + std::to_string(place.thread);
}

}  // namespace

std::string json_text(const std::string& text) {
    std::string json = "\"";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = letter_bytes(text, at);
        const char letter = text[at];
        if (bytes == 0) {
            json += "\\ufffd";
        } else if (bytes > 1) {
            json += text.substr(at, bytes);
        } else if (letter == '"' || letter == '\\') {
            json += {'\\', letter};
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(letter));
            json += code;
        } else {
            json += letter;
        }
        at += std::max<std::size_t>(bytes, 1);
    }
    return json + "\"";
}

json_members& json_members::put(const std::string& name, const std::string& json) {
    text_ += (text_.empty() ? "" : ",") + json_text(name) + ":" + json;
    return *this;
}

void trace_events::name_process(int process, const std::string& name) {
    const std::string place = place_text({process, 0});
    names_.push_back("{\"ph\":\"M\",\"name\":\"process_name\",\"ts\":0" + place +
                     ",\"args\":" + json_members().add("name", name).text() + "}");
    names_.push_back("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"ts\":0" + place +
                     ",\"args\":{\"sort_index\":" + std::to_string(process) + "}}");
}

void trace_events::name_thread(trace_place place, const std::string& name) {
    names_.push_back("{\"ph\":\"M\",\"name\":\"thread_name\",\"ts\":0" + place_text(place) +
                     ",\"args\":" + json_members().add("name", name).text() + "}");
}

void trace_events::span(trace_place place, const char* category, const std::string& name, std::uint64_t begin_ns,
                        std::uint64_t end_ns, const json_members& arguments) {
    const std::uint64_t length_ns = std::max(begin_ns, end_ns) - begin_ns;
    events_.push_back({begin_ns, length_ns,
                       "{\"ph\":\"X\",\"cat\":\"" + std::string(category) + "\",\"name\":" + json_text(name) +
                           ",\"ts\":" + microseconds(begin_ns) + ",\"dur\":" + microseconds(length_ns) +
                           place_text(place) + ",\"args\":" + arguments.text() + "}"});
}

void trace_events::counter(int process, const char* name, std::uint64_t time_ns, const json_members& values) {
    events_.push_back({time_ns, 0,
                       "{\"ph\":\"C\",\"name\":" + json_text(name) + ",\"ts\":" + microseconds(time_ns) +
                           place_text({process, 0}) + ",\"args\":" + values.text() + "}"});
}

std::string trace_events::text() {
    std::stable_sort(events_.begin(), events_.end(), [](const event& one, const event& other) {
        return one.time_ns != other.time_ns ? one.time_ns < other.time_ns : one.length_ns > other.length_ns;
    });
    std::string all = "[";
    const auto add = [&](const std::string& text) { all += (all.size() == 1 ? "\n" : ",\n") + text; };
    for (const std::string& name : names_) add(name);
    for (const event& e : events_) add(e.text);
    return all + "\n]";
}

}  // namespace laneway
