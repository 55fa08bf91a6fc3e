#include "matching_replay_suite.hpp"  // on CPU devices
