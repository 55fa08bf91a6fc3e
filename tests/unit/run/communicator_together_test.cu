#include "communicator_together_suite.hpp"  // on GPUs
