#include "session_suite.hpp"  // on GPUs
