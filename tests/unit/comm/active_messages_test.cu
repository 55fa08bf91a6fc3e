#include "active_messages_suite.hpp"  // on GPUs
