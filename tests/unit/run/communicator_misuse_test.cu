#include "communicator_misuse_suite.hpp"  // on GPUs
#include "communicator_truncated_suite.hpp"
