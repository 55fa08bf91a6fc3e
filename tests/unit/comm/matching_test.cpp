#include "matching_suite.hpp"  // on CPU devices
