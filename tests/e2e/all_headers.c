/* All public headers together, in any order, twice. */
#include <hone/tune.h>

#include <hone/array.h>
#include <hone/artifact.h>
#include <hone/base.h>
#include <hone/bench.h>
#include <hone/check.h>
#include <hone/compile.h>
#include <hone/controls.h>
#include <hone/cuda_controls.h>
#include <hone/device.h>
#include <hone/explain.h>
#include <hone/front.h>
#include <hone/import.h>
#include <hone/inputs.h>
#include <hone/ir.h>
#include <hone/latency.h>
#include <hone/machine.h>
#include <hone/model.h>
#include <hone/npy.h>
#include <hone/onnx.h>
#include <hone/pack.h>
#include <hone/pass.h>
#include <hone/peer.h>
#include <hone/process.h>
#include <hone/profile.h>
#include <hone/program.h>
#include <hone/prove.h>
#include <hone/record.h>
#include <hone/reduce.h>
#include <hone/report.h>
#include <hone/search.h>
#include <hone/space.h>
#include <hone/stat.h>
#include <hone/target.h>
#include <hone/text.h>
#include <hone/tune.h>
#include <hone/tune_model.h>
#include <hone/verify.h>
#include <hone/winners.h>

int main(void) { return 0; }
