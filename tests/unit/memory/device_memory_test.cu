#include "device_memory_suite.hpp"  // on GPUs
