#include "page_set_suite.hpp"  // on CPU devices
