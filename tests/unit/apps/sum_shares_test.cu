#include "sum_shares_suite.hpp"  // on GPUs
