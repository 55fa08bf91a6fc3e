#include "timeline_suite.hpp"
