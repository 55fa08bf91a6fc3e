#include "balance_suite.hpp"  // on CPU devices
