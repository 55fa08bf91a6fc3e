#include "cc_suite.hpp"  // on CPU devices
