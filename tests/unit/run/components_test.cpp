#include "components_suite.hpp"
