#include "triggered_tasks_suite.hpp"
