#include "lane_ranks_suite.hpp"  // on GPUs
