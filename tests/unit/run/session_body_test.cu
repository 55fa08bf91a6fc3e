#include "session_body_suite.hpp"  // on GPUs
