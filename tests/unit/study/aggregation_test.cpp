#include "aggregation_suite.hpp"  // on CPU devices
