#include "parcels_suite.hpp"  // on GPUs
