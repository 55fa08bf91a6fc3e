// An open file of the system.
#pragma once

#include <memory>

namespace laneway {

/// Shared by its copies, the last of which closes the file. Host only.
class file_handle {
public:
    file_handle() = default;
    /// Takes over a descriptor.
    explicit file_handle(int descriptor);

    explicit operator bool() const { return descriptor_ != nullptr; }
    /// -1 where there is none.
    [[nodiscard]] int descriptor() const { return descriptor_ == nullptr ? -1 : *descriptor_; }

private:
    std::shared_ptr<const int> descriptor_;
};

}  // namespace laneway
