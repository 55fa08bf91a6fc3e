#include "heap_scan_suite.hpp"  // on CPU devices
