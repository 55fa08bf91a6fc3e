#include "communicator_widths_suite.hpp"  // on GPUs
