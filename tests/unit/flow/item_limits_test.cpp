#include "item_limits_suite.hpp"  // on CPU devices
