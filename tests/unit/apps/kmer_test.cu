#include "kmer_suite.hpp"  // on GPUs
