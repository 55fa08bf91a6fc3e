#include "gups_suite.hpp"  // on GPUs
