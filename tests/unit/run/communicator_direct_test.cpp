#include "communicator_direct_suite.hpp"
