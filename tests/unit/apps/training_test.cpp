#include "training_suite.hpp"
