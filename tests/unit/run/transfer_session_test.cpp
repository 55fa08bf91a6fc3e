#include "transfer_session_suite.hpp"
