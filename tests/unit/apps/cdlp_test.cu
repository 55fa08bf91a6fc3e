#include "cdlp_suite.hpp"  // on GPUs
