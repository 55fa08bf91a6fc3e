#include "word_channel_suite.hpp"  // on GPUs
