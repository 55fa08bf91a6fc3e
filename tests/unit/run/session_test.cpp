#include "session_suite.hpp"
