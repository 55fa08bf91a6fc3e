#include "routers_suite.hpp"
