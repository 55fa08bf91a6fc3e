#include "onward_suite.hpp"  // on GPUs
