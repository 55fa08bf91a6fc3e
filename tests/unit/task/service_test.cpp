#include "service_suite.hpp"
