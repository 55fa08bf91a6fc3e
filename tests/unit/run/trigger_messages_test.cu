#include "trigger_messages_suite.hpp"  // on GPUs
