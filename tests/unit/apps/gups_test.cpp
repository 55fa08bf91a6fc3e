#include "gups_suite.hpp"  // on CPU devices
