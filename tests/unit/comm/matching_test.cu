#include "matching_suite.hpp"  // on GPUs
