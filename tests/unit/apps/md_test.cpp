#include "md_suite.hpp"  // on CPU devices
