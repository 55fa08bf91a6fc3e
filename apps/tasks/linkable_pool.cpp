#include "linkable_pool.hpp"

// The build says which file it is: LANEWAY_LINKABLE_POOL.
#if LANEWAY_HAS_CUDA
asm(".pushsection .rodata\n"
    "laneway_linkable_pool_begin: .incbin \"" LANEWAY_LINKABLE_POOL
    "\"\n"
    "laneway_linkable_pool_end: .byte 0\n"
    ".popsection\n");
extern "C" const char laneway_linkable_pool_begin[], laneway_linkable_pool_end[];
#endif

namespace laneway::apps {

std::string_view linkable_pool() {
#if LANEWAY_HAS_CUDA
    return {laneway_linkable_pool_begin, laneway_linkable_pool_end};
#else
    return {};
#endif
}

}  // namespace laneway::apps
