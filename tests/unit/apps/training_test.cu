#include "training_suite.hpp"  // on GPUs
