#include "exchange_suite.hpp"  // on GPUs
