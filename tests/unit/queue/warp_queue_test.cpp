#include "warp_queue_suite.hpp"  // on CPU devices
