#include "alike_sessions_suite.hpp"
