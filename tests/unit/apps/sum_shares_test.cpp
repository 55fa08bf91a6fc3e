#include "sum_shares_suite.hpp"  // on CPU devices
