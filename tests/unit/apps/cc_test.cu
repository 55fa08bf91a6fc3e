#include "cc_suite.hpp"  // on GPUs
