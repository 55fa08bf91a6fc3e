#include "indegree_suite.hpp"  // on CPU devices
