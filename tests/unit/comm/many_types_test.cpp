#include "many_types_suite.hpp"  // on CPU devices
