#include "component_work_suite.hpp"
