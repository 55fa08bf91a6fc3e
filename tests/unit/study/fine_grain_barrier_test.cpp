#include "fine_grain_barrier_suite.hpp"  // on CPU devices
