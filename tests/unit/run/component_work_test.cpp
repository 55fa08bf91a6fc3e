#include "component_work_suite.hpp"
#include "index_space_suite.hpp"
