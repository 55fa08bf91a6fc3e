#include "id_ring_suite.hpp"  // on GPUs
