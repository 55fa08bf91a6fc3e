#include "channel_block_suite.hpp"
