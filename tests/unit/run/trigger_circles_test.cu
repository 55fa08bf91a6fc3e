#include "trigger_circles_suite.hpp"  // on GPUs
