#include "collectives_suite.hpp"
