#include "group_suite.hpp"
