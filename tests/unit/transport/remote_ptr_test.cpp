#include "remote_ptr_suite.hpp"  // on CPU devices
