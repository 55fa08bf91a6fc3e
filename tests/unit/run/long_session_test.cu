#include "long_session_suite.hpp"  // on GPUs
