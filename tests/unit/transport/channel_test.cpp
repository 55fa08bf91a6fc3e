#include "channel_suite.hpp"  // on CPU devices
