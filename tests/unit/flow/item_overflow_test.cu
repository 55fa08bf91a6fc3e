#include "item_overflow_suite.hpp"  // on GPUs
