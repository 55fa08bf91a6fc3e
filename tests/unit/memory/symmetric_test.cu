#include "symmetric_suite.hpp"  // on GPUs
