#include "trigger_schedules_suite.hpp"
