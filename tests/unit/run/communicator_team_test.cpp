#include "communicator_team_suite.hpp"
