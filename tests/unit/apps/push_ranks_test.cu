#include "push_ranks_suite.hpp"  // on GPUs
