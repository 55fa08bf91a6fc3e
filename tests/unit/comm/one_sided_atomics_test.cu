#include "one_sided_atomics_suite.hpp"  // on GPUs
