#include "routers_suite.hpp"  // on GPUs
