#include "host_waits_suite.hpp"  // on GPUs
