#include "symmetric_suite.hpp"  // on CPU devices
