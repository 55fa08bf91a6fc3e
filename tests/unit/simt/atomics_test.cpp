#include "atomics_suite.hpp"  // on CPU devices
