#include "pagerank_suite.hpp"  // on CPU devices
