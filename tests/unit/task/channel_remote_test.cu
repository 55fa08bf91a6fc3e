#include "channel_remote_suite.hpp"
