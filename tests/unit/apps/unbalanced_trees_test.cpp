#include "unbalanced_trees_suite.hpp"
