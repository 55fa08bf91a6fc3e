#include "communicator_bounds_suite.hpp"
#include "communicator_shared_calls_suite.hpp"
#include "communicator_widths_suite.hpp"
