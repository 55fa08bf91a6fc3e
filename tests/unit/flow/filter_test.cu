#include "filter_suite.hpp"  // on GPUs
