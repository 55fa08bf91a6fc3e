#include "memory_order_suite.hpp"  // on GPUs
