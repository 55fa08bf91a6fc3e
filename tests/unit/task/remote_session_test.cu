#include "remote_session_suite.hpp"  // on GPUs
