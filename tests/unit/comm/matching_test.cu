#include "matching_exchange_suite.hpp"  // on GPUs
#include "matching_suite.hpp"
