// Cause: Nothing is wrong: eight workers wait most of the time for a thousand jobs a second, which take some ten microseconds each.
// Right: none
// Args: 1000
#define JOB 5000
#include "steady_jobs.h"
