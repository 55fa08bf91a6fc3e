#include "communicator_blocking_suite.hpp"  // on GPUs
#include "communicator_random_suite.hpp"
