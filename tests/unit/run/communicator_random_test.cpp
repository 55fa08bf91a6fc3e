#include "communicator_random_suite.hpp"
