#include "triangles_suite.hpp"  // on GPUs
