#include "communicator_cases_suite.hpp"  // on GPUs
#include "communicator_probes_suite.hpp"
#include "communicator_requests_suite.hpp"
#include "communicator_tags_suite.hpp"
