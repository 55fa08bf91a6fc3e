#include "task_misuse_suite.hpp"
