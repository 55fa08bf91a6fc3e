#include "laneway/simt/pe_program.hpp"

#include <cstring>

#include "laneway/base/error.hpp"

namespace laneway {

void pe_program::require(device_kind kind) const {
    if (kind == device_kind::cuda && kernel_ == nullptr) {
        throw usage_error("this program was compiled without CUDA and cannot run on a GPU; compile it with nvcc");
    }
    if (kind == device_kind::checked && on_checked_ == nullptr) {
        throw usage_error(
            "this program was compiled without checked devices: `make demo` leaves them out of the package, "
            "`pip install .` and `make test` do not");
    }
}

std::shared_ptr<const void> pe_program::copy_of(const void* program, std::size_t bytes, std::align_val_t alignment) {
    void* const copy = operator new(bytes, alignment);
    const std::shared_ptr<const void> owned(copy, [=](void* memory) { operator delete(memory, alignment); });
    std::memcpy(copy, program, bytes);
    return owned;
}

}  // namespace laneway
