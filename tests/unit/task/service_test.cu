#include "service_suite.hpp"  // on GPUs
