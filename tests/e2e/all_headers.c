/* All public headers together, in any order, twice. */
#include <hone/tune.h>

#include <hone/base.h>
#include <hone/bench.h>
#include <hone/controls.h>
#include <hone/measure.h>
#include <hone/pack.h>
#include <hone/prove.h>
#include <hone/record.h>
#include <hone/report.h>
#include <hone/search.h>
#include <hone/space.h>
#include <hone/target.h>
#include <hone/tune.h>

int main(void) { return 0; }
