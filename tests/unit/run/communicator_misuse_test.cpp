#include "communicator_misuse_suite.hpp"
