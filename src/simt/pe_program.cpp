#include "laneway/simt/pe_program.hpp"

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

}  // namespace laneway
