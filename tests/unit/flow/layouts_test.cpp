#include "layouts_suite.hpp"
