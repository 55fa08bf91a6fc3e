#include "remote_ptr_suite.hpp"  // on GPUs
