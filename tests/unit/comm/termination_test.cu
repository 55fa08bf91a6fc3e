#include "termination_suite.hpp"  // on GPUs
