#include "laneway/simt/run_end.hpp"

#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/base/one_line.hpp"

namespace laneway {

std::string run_end::to_bytes() const {
    std::string bytes(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(fault_record));
    bytes += abandoned ? 'a' : '-';
    bytes += one_line(thrown, ' ') + '\n' + one_line(left, ' ');
    return bytes;
}

run_end run_end::from_bytes(const std::string& bytes, std::size_t pes) {
    run_end end;
    const std::size_t texts = pes * sizeof(fault_record) + 1;
    const auto line = bytes.size() < texts ? std::string::npos : bytes.find('\n', texts);
    if (line == std::string::npos) throw process_error("the end of a run: another process tells it in another way");
    end.records.resize(pes);
    std::memcpy(static_cast<void*>(end.records.data()), bytes.data(), texts - 1);
    end.abandoned = bytes[texts - 1] == 'a';
    end.thrown = bytes.substr(texts, line - texts);
    end.left = bytes.substr(line + 1);
    return end;
}

std::string reason_of(const std::exception_ptr& thrown) {
    if (!thrown) return {};
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
        return one_line(e.what(), ' ');
    } catch (...) {
        return "unknown exception";
    }
}

}  // namespace laneway
