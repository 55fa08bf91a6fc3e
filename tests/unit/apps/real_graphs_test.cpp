#include "real_graphs_suite.hpp"  // on CPU devices
