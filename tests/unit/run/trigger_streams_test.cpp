#include "trigger_streams_suite.hpp"
