#include "group_shapes_suite.hpp"  // on GPUs
