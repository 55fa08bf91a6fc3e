// What the machine runs on a PE, whatever its type: so that launching is compiled once, in the library.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <typeinfo>

#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/cpu/context.hpp"
#include "laneway/simt/device_list.hpp"
#if defined(__CUDACC__)
#include "laneway/simt/cuda/launch.cuh"
#endif

namespace laneway {

#if defined(__CUDACC__)
inline constexpr bool compiled_with_cuda = true;
#else
inline constexpr bool compiled_with_cuda = false;
namespace cuda_backend {  // named below, used only where the GPU's kernel is compiled in
template <class Program>
const void* kernel_of();
}  // namespace cuda_backend
#endif

/// 0: this file's programs have no code for checked devices, which takes as long to compile as that for threads.
#if !defined(LANEWAY_CHECKED)
#define LANEWAY_CHECKED 1
#endif
inline constexpr bool compiled_for_checked = LANEWAY_CHECKED != 0;

/// A copy of a program, and how each kind of device calls it.
class pe_program {
public:
    template <class Program, bool with_cuda = compiled_with_cuda, bool with_checked = compiled_for_checked,
              bool with_cpu = compiled_for_host>
    static pe_program of(const Program& program) {
        pe_program made;
        if constexpr (std::is_trivially_copyable_v<Program>) {
            made.copy_ = copy_of(&program, sizeof program, std::align_val_t{alignof(Program)});
        } else {  // of CPU devices only
            made.copy_ = std::make_shared<const Program>(program);
        }
        made.name_ = typeid(Program).name();
        if constexpr (with_cpu) {
            made.on_cpu_ = [](const void* p, cpu::context& ctx) { (*static_cast<const Program*>(p))(ctx); };
        }
        if constexpr (with_cpu && with_checked) {
            made.on_checked_ = [](const void* p, checked::context& ctx) { (*static_cast<const Program*>(p))(ctx); };
        }
        if constexpr (with_cuda) made.kernel_ = cuda_backend::kernel_of<Program>();
        return made;
    }

    void operator()(cpu::context& ctx) const { on_cpu_(copy_.get(), ctx); }
    void operator()(checked::context& ctx) const { on_checked_(copy_.get(), ctx); }
    /// Throws usage_error where it was compiled without the code that a device of this kind runs.
    void require(device_kind kind) const;
    /// The kernel that runs it on a GPU, null where it was compiled without CUDA, and the kernel's first argument.
    [[nodiscard]] const void* kernel() const { return kernel_; }
    /// As the compiler names its type.
    [[nodiscard]] const char* name() const { return name_; }
    [[nodiscard]] const void* data() const { return copy_.get(); }

private:
    static std::shared_ptr<const void> copy_of(const void* program, std::size_t bytes, std::align_val_t alignment);

    std::shared_ptr<const void> copy_;
    void (*on_cpu_)(const void*, cpu::context&) = nullptr;
    void (*on_checked_)(const void*, checked::context&) = nullptr;
    const void* kernel_ = nullptr;
    const char* name_ = "";
};

}  // namespace laneway
