#include "trigger_sessions_misuse_suite.hpp"
