#include "matching_exchange_suite.hpp"  // on CPU devices
#include "matching_suite.hpp"
