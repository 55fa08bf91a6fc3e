#include "row_tiles_suite.hpp"  // on GPUs
