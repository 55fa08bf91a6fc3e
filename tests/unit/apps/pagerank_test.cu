#include "pagerank_suite.hpp"  // on GPUs
