#include "item_overflow_suite.hpp"  // on CPU devices
