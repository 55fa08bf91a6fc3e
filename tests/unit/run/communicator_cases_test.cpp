#include "communicator_cases_suite.hpp"
