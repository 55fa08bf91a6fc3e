#include "remote_queue_suite.hpp"  // on GPUs
