#include "collectives_suite.hpp"  // on GPUs
