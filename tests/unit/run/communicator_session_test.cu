#include "communicator_session_suite.hpp"  // on GPUs
