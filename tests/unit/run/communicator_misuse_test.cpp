#include "communicator_misuse_suite.hpp"
#include "communicator_truncated_suite.hpp"
