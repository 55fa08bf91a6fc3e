#include "task_end_suite.hpp"
