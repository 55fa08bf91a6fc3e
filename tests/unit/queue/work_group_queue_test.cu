#include "work_group_queue_suite.hpp"  // on GPUs
