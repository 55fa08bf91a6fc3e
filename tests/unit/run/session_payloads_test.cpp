#include "session_payloads_suite.hpp"
