#include "channel_scheduling_suite.hpp"
