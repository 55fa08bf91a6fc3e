#include "service_get_suite.hpp"
