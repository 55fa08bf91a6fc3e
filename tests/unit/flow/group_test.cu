#include "group_suite.hpp"  // on GPUs
