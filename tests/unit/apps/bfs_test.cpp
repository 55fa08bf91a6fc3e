#include "bfs_suite.hpp"  // on CPU devices
