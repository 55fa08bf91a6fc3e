#include "laneway/base/fault_text.hpp"

#include <sstream>

namespace laneway {

namespace {

std::string counted(std::uint64_t count, const char* word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

/// The record's number in the operation's words.
std::string number_of(const fault_record& record) {
    const channel_in_fault channel = channel_in_fault::of(record.number);
    const bool is_channel = names_channel(record);
    std::string text = words_of(record.what).number;
    text.replace(text.find('#'), 1, std::to_string(is_channel ? channel.channel : record.number));
    return is_channel ? text + of_graph(channel.graph) : text;
}

std::string deadline(const fault_scene& scene) {
    std::ostringstream text;
    text << "the deadline is " << scene.timeout_seconds << " s";
    if (scene.step_ns != 0) text << " of virtual time, " << scene.step_ns << " ns for each step of a lane";
    return text.str();
}

std::string missing_element(const fault_record& record) {
    const std::string element = "element " + std::to_string(record.number);
    if (record.number < record.limit) return element + " is out of reach of loads and stores";
    const std::string there = record.limit == 0 ? "none" : "0 to " + std::to_string(record.limit - 1);
    return element + ", where there are " + there;
}

/// How many working warps came, of all of them.
std::string came(const fault_record& record) {
    return std::to_string(record.number) + " of " + counted(record.limit, "working warp") + " came";
}

/// Count and threshold of a tag.
std::string triggers_of(const fault_record& record) {
    const std::string count = std::to_string(record.limit & 0xffff'ffff);
    if (record.limit >> 32 == 0) return "not prepared, triggered " + count + " times";
    return count + " of " + counted(record.limit >> 32, "trigger");
}

bool is_two_sided(const fault_record& record) {
    return record.what == operation::send || record.what == operation::receive || record.what == operation::probe;
}

/// What a message that is waited for is known by; `number` is its tag, or that of MPI's any tag.
std::string message_of(const fault_record& record) {
    const std::string source = record.peer < 0 && record.what != operation::send ? "from any PE, " : "";
    const std::string tag = record.number == 0xffff'ffff ? "any tag" : number_of(record);
    return source + tag + " of communicator " + std::to_string(record.limit);
}

/// What the record's numbers say.
std::string numbers_of(const fault_record& record, const fault_scene& scene) {
    switch (record.code) {
        case status::bad_pe:
            if (record.what == operation::collective && record.peer >= 0 && record.peer < scene.n_pes)
                return "it is no member of this group";
            return "the job has " + counted(static_cast<std::uint64_t>(scene.n_pes), "PE");
        case status::bad_address: return missing_element(record);
        case status::too_long:
            return counted(record.number, "byte") + ", and a chunk has room for " + std::to_string(record.limit);
        case status::no_room:
            if (record.number < record.limit) {
                return "none of the " + counted(record.number, "place") + " that it may take is free, of " +
                       std::to_string(record.limit);
            }
            return "of " + counted(record.number, "place") + " none is free" +
                   (record.what == operation::forward    ? ", see options.forward_slots"
                    : is_two_sided(record)               ? " for another request, see communicator_options.requests"
                    : record.what == operation::put_item ? ", see item_worklist_options.items and .overflow_items"
                                                         : "");
        case status::uneven_barrier:
            return came(record) + (record.number == 0 ? ", and other PEs wait there" : ", and the rest returned");
        case status::uneven_post:
        case status::collective_incomplete: return came(record);
        case status::collective_too_long:
            return counted(record.number, "byte") + ", and the limit is " + std::to_string(record.limit);
        case status::truncated:
        case status::wrong_length:
            return "the message has " + counted(record.number, "byte") + ", the receive takes " +
                   std::to_string(record.limit);
        case status::unexpected_message:
        case status::broken_promise:
        case status::request_left: return message_of(record);
        case status::bad_request: return number_of(record) + " of communicator " + std::to_string(record.limit);
        case status::bad_tag:
            if (is_two_sided(record)) {
                return "tag " + std::to_string(static_cast<std::int64_t>(record.number)) + ", where there are 0 to " +
                       std::to_string(record.limit);
            }
            return number_of(record) + ", where there are 0 to " + std::to_string(record.limit - 1);
        case status::bad_index:
            if (record.what == operation::find_payload && record.number >= record.limit) return "none has landed";
            return number_of(record) + ", where there are " +
                   (record.limit == 0 ? "none" : "0 to " + std::to_string(record.limit - 1));
        case status::quota_reached: {
            const std::uint64_t bytes = record.limit & ((std::uint64_t{1} << 56) - 1);
            return number_of(record) + ", of quota " + std::to_string(record.limit >> 56) +
                   (record.number > bytes ? ", which gives " + std::to_string(bytes) + " at once at most"
                                          : ", which has " + std::to_string(bytes));
        }
        case status::not_allocated:
            return (record.number < record.limit ? number_of(record) : "an address outside") + " of " +
                   std::to_string(record.limit);
        case status::bad_pitch:
            return counted(record.number, "byte") + " from row to row, and a row has " + std::to_string(record.limit);
        case status::bad_threshold: return number_of(record) + ", threshold " + std::to_string(record.limit);
        case status::too_many_triggers: return number_of(record) + ", " + triggers_of(record);
        case status::freed_twice: return number_of(record) + ", level " + std::to_string(record.limit);
        case status::too_deep: return number_of(record) + " has " + counted(record.limit, "level");
        case status::too_many_at_once: return number_of(record) + " gives " + std::to_string(record.limit);
        case status::timeout:
            if (record.what == operation::trigger) {
                return number_of(record) + ", " + triggers_of(record) + "; " + deadline(scene);
            }
            if (is_two_sided(record)) return message_of(record) + "; " + deadline(scene);
            if (record.what == operation::completion) {
                return number_of(record) + " is less than " + std::to_string(record.limit) + "; " + deadline(scene);
            }
            // How much work is open is known where all PEs' counters come together, and not at every moment.
            if (record.what == operation::run_to_end && (record.pe != 0 || record.number == 0)) {
                return deadline(scene);
            }
            return number_of(record) + "; " + deadline(scene);
        default:
            if (record.what == operation::serving) {
                return number_of(record) + (record.limit == ~std::uint64_t{0}
                                                ? ", for the host"
                                                : ", from its block " + std::to_string(record.limit));
            }
            if (record.what == operation::run_task) return number_of(record) + ", with " + std::to_string(record.limit);
            return number_of(record);
    }
}

}  // namespace

bool names_channel(const fault_record& record) {
    return record.what == operation::produce || record.what == operation::consume;
}

std::string of_graph(std::uint32_t graph) { return graph == 0 ? "" : " of graph " + std::to_string(graph - 1); }

std::string describe(const fault_record& record, const fault_scene& scene) {
    return "PE " + std::to_string(record.pe) + " (" + scene.device + ") block " + std::to_string(record.block) +
           " warp " + std::to_string(record.warp) + " lane " + std::to_string(record.lane) + ": " +
           describe_cause(record, scene);
}

std::string describe_cause(const fault_record& record, const fault_scene& scene) {
    const operation_words words = words_of(record.what);
    std::string text = to_string(record.code);
    // Who finds that others have returned from an uneven barrier need not have come to it.
    if (record.code != status::uneven_barrier) text += std::string(" while ") + words.doing;
    // A PE that does not exist may be negative, as the one that is no PE at all.
    if (record.peer >= 0 || record.code == status::bad_pe) text += words.toward + std::to_string(record.peer);
    return text + ": " + numbers_of(record, scene);
}

}  // namespace laneway
