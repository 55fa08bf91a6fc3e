#include "filter_suite.hpp"
