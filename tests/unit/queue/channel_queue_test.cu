#include "channel_queue_suite.hpp"  // on GPUs
