#include "laneway/simt/cuda/profiler_range.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define LANEWAY_HAS_NVTX 1
#else  // a toolkit in parts may lack it
#define LANEWAY_HAS_NVTX 0
#endif

namespace laneway {

#if LANEWAY_HAS_NVTX

namespace {

nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t made = nvtxDomainCreateA("laneway");
    return made;
}

}  // namespace

profiler_range::profiler_range(const char* name) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &event);
}
profiler_range::~profiler_range() { nvtxDomainRangePop(domain()); }

#else

profiler_range::profiler_range(const char*) {}
profiler_range::~profiler_range() = default;

#endif

}  // namespace laneway
