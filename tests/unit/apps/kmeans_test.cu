#include "kmeans_suite.hpp"  // on GPUs
