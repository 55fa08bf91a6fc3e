#include "service_misuse_suite.hpp"
