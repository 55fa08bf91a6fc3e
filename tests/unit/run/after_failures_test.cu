#include "after_failures_suite.hpp"  // on GPUs
