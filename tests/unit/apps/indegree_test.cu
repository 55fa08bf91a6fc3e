#include "indegree_suite.hpp"  // on GPUs
