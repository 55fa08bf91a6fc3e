#include "remote_faults_suite.hpp"  // on GPUs
