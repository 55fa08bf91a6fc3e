#include "task_sharing_suite.hpp"  // on GPUs
