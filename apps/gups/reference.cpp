#include "gups.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::apps {

std::vector<std::uint64_t> gups_reference(unsigned log2_words, std::uint64_t updates) {
    std::vector<std::uint64_t> table(std::size_t{1} << log2_words);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = i;
    std::uint64_t value = 1;
    interruption_counter leave;
    for (std::uint64_t i = 0; i < updates; ++i) {
        leave.poll();
        const bool carry = static_cast<std::int64_t>(value) < 0;
        value *= 2;
        if (carry) value ^= 7;
        table[value % table.size()] ^= value;
    }
    return table;
}

}  // namespace laneway::apps
