#include "row_tiles_suite.hpp"  // on CPU devices
