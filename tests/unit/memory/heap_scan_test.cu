#include "heap_scan_suite.hpp"  // on GPUs
