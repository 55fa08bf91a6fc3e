#include "md_job_suite.hpp"  // on GPUs
