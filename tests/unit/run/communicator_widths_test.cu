#include "communicator_bounds_suite.hpp"  // on GPUs
#include "communicator_widths_suite.hpp"
