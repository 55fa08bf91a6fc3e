#include "termination_suite.hpp"  // on CPU devices
