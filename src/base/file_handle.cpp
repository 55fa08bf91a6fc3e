#include "laneway/base/file_handle.hpp"

#include <unistd.h>

namespace laneway {

file_handle::file_handle(int descriptor)
    : descriptor_(new int(descriptor), [](const int* open) {
          ::close(*open);
          delete open;
      }) {}

}  // namespace laneway
