#include "kmeans_suite.hpp"  // on CPU devices
