#include "task_misuse_suite.hpp"  // on GPUs
