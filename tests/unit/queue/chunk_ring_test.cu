#include "chunk_ring_suite.hpp"  // on GPUs
