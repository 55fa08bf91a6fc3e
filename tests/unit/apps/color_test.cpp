#include "color_suite.hpp"  // on CPU devices
