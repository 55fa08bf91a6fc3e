#include "task_spawn_suite.hpp"  // on GPUs
