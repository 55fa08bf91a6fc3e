#include "transfer_session_suite.hpp"  // on GPUs
