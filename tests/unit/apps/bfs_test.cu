#include "bfs_suite.hpp"  // on GPUs
