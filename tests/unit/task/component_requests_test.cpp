#include "component_requests_suite.hpp"
