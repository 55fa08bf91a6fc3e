#include "fed_tasks_suite.hpp"
