#include "communicator_suite.hpp"  // on GPUs
