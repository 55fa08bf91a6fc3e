#include "task_sharing_suite.hpp"
