#include "aggregation_suite.hpp"  // on GPUs
