#include "host_calls_suite.hpp"  // on GPUs
