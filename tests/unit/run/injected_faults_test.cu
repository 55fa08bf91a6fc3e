#include "injected_faults_suite.hpp"  // on GPUs
