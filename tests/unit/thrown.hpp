// What a call throws, for tests of messages.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace laneway::test {

/// What `call` throws, an Error; nothing where that is std::nullptr_t.
template <class Error, class Call>
std::string thrown(Call&& call) {
    if constexpr (std::is_same_v<Error, std::nullptr_t>) {
        call();
    } else {
        try {
            call();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& e) {
            EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
            return e.what();
        }
    }
    return {};
}

}  // namespace laneway::test
