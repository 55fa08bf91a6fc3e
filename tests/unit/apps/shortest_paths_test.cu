#include "shortest_paths_suite.hpp"  // on GPUs
