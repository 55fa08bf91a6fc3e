#include "variable_messages_suite.hpp"  // on GPUs
