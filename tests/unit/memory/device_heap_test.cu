#include "device_heap_suite.hpp"  // on GPUs
