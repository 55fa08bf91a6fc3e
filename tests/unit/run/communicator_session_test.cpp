#include "communicator_session_end_suite.hpp"
#include "communicator_session_probes_suite.hpp"
#include "communicator_session_suite.hpp"
