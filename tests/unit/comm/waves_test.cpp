#include "waves_suite.hpp"  // on CPU devices
