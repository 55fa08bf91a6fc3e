#include "component_work_suite.hpp"  // on GPUs
#include "index_space_suite.hpp"
