#include "item_limits_suite.hpp"  // on GPUs
