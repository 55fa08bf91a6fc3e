#include "trigger_sessions_suite.hpp"
