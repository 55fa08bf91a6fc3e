#include "task_order_suite.hpp"
