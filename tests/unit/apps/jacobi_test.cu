#include "jacobi_suite.hpp"  // on GPUs
