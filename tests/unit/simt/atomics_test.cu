#include "atomics_suite.hpp"  // on GPUs
