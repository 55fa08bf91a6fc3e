#include "task_spawn_suite.hpp"
