#include "collective_values_suite.hpp"  // on GPUs
