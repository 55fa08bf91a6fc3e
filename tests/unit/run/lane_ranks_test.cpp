#include "lane_ranks_suite.hpp"
