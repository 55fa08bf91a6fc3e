#include "cuda_faults_suite.hpp"  // on GPUs
