#include "color_suite.hpp"  // on GPUs
