#include "forward_suite.hpp"
