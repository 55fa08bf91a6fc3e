// A mailbox as the host knows it: what runtime::mailbox makes and runs take.
#pragma once

#include <memory>

#include "laneway/comm/mailbox.hpp"
#include "laneway/comm/triggers/trigger_starter.hpp"

namespace laneway {

class machine;

/// A mailbox as the host knows it: types of message and the handlers that serve them. Made by runtime::mailbox, for
/// runs of that runtime: what handlers refer to lies on its devices. Copies are the same mailbox.
template <class Routes>
class mailbox_handle {
public:
    using ref_type = mailbox_ref<Routes>;
    static constexpr const char* name = "a mailbox";

    mailbox_handle(const machine& owner, const Routes& handlers)
        : owner_(&owner), handlers_(std::make_shared<const Routes>(handlers)) {}
    // Copied, never moved: what has been moved from would be no mailbox.
    mailbox_handle(const mailbox_handle&) = default;
    mailbox_handle& operator=(const mailbox_handle&) = default;

    // As a component, see run/component.hpp.
    [[nodiscard]] ref_type ref(int) const { return {*handlers_}; }
    [[nodiscard]] const machine* owner() const { return owner_; }
    [[nodiscard]] const void* identity() const { return handlers_.get(); }

    // For triggers that post its messages.
    using starter_type = message_starter<Routes, false>;
    [[nodiscard]] starter_type starter(int) const { return {}; }

private:
    const machine* owner_;
    std::shared_ptr<const Routes> handlers_;
};

/// The same for triggers whose operations may wait until a message's handler has returned: `with(lw::followed(box))`.
/// The run or session gets the mailbox itself.
template <class Routes>
class followed_mailbox : public mailbox_handle<Routes> {
public:
    explicit followed_mailbox(const mailbox_handle<Routes>& box) : mailbox_handle<Routes>(box) {}

    using starter_type = message_starter<Routes, true>;
    [[nodiscard]] starter_type starter(int pe) const { return {{}, this->ref(pe).routes}; }
};
template <class Routes>
[[nodiscard]] followed_mailbox<Routes> followed(const mailbox_handle<Routes>& box) {
    return followed_mailbox<Routes>(box);
}

}  // namespace laneway
