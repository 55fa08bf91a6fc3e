#include "allocator_suite.hpp"  // on the host and on CPU devices

#include "sub_allocator_pieces.hpp"

namespace laneway::test {

LANEWAY_ALLOCATORS(sub_allocators);

}  // namespace laneway::test
