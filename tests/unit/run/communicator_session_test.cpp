#include "communicator_session_suite.hpp"
