#include "forward_suite.hpp"  // on GPUs
