#include "push_ranks_suite.hpp"  // on CPU devices
