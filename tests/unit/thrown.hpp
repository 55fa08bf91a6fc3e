// What a call throws, for tests of messages.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <type_traits>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

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

/// Whether a call that waits for a session's program, which is kept from the devices meanwhile, is ended by an
/// interruption.
template <class Session, class Call>
bool is_interrupted(Session& session, Call&& call) {
    std::atomic<bool> away = false, left = false;
    std::jthread keeper([&] {
        session.while_away([&] {
            away = true;
            while (!left) std::this_thread::yield();
        });
    });
    while (!away) std::this_thread::yield();
    const std::string why = thrown<interrupted>([&] {
        const interruption leave([] { throw interrupted("enough"); });
        call();
    });
    left = true;
    return !why.empty();
}

}  // namespace laneway::test
