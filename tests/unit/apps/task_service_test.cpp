#include "task_service_suite.hpp"  // on CPU devices
