#include "item_stealing_suite.hpp"  // on GPUs
