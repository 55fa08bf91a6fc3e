#include "communicator_bounds_suite.hpp"
#include "communicator_widths_suite.hpp"
