#include "balance_suite.hpp"  // on GPUs
