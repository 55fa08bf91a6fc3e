#include "channel_misuse_suite.hpp"
