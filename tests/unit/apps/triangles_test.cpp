#include "triangles_suite.hpp"  // on CPU devices
