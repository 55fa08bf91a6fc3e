#include "group_shapes_suite.hpp"
