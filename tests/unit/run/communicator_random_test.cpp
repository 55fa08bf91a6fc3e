#include "communicator_blocking_suite.hpp"
#include "communicator_random_suite.hpp"
