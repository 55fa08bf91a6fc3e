#include "communicator_suite.hpp"
