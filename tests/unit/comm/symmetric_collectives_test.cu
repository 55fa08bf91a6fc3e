#include "symmetric_collectives_suite.hpp"
