#include "group_suite.hpp"  // on CPU devices
