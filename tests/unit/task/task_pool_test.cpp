#include "task_pool_suite.hpp"
