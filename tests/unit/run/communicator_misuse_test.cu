#include "communicator_misuse_suite.hpp"  // on GPUs
