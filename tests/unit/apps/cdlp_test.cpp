#include "cdlp_suite.hpp"  // on CPU devices
