#include "near_far_suite.hpp"  // on GPUs
