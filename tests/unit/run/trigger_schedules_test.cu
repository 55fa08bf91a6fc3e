#include "trigger_schedules_suite.hpp"  // on GPUs
