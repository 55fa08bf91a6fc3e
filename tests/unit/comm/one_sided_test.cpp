#include "one_sided_suite.hpp"
