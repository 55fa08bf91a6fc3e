#include "kmer_suite.hpp"  // on CPU devices
