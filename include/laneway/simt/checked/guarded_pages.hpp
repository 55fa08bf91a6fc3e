// Memory with pages below or behind it that nobody may touch: a stack that overflows, or a pointer that runs away,
// stops at once. Host only.
#pragma once

#include <cstddef>
#include <utility>

namespace laneway::checked {

class guarded_pages {
public:
    /// More than a page, as functions with large frames step over one.
    static constexpr std::size_t guard_bytes = 64 * 1024;

    enum class guard { below, behind };

    guarded_pages() = default;
    /// `bytes` of zeros; nothing where the system has none, or no more mappings. Guarded behind, the last of them
    /// stands before the guard, but for less than the 256 that the first is aligned to.
    guarded_pages(std::size_t bytes, guard where);
    ~guarded_pages();
    guarded_pages(guarded_pages&& other) noexcept
        : mapped_(std::exchange(other.mapped_, nullptr)), mapped_bytes_(other.mapped_bytes_), data_(other.data_),
          bytes_(other.bytes_) {}
    guarded_pages& operator=(guarded_pages&& other) noexcept {
        std::swap(mapped_, other.mapped_);
        std::swap(mapped_bytes_, other.mapped_bytes_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    explicit operator bool() const { return mapped_ != nullptr; }

private:
    void* mapped_ = nullptr;
    std::size_t mapped_bytes_ = 0;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace laneway::checked
