#include "links_suite.hpp"
