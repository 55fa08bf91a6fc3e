#include "task_end_suite.hpp"  // on GPUs
