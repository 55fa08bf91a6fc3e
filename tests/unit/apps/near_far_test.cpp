#include "near_far_suite.hpp"  // on CPU devices
