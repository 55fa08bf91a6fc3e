#include "communicator_bounds_suite.hpp"  // on GPUs
#include "communicator_shared_calls_suite.hpp"
#include "communicator_widths_suite.hpp"
