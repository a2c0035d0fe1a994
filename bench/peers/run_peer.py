"""run_peer.py PEER SPACE.tsv.xz SEEDS EVALS one|two: judges one peer on one recorded space; prints JSON."""

import json
import sys
import time

import registry
from recording import Meter, Recording, summary


def main():
    peer, path, seeds, evals, objectives = sys.argv[1:]
    run = (registry.TWO if objectives == "two" else registry.SINGLE)[peer]
    recording = Recording(path)
    curves, repeats, start = [], 0, time.perf_counter()
    for seed in range(int(seeds)):
        meter = Meter(recording, int(evals), objectives == "two")
        run(recording, meter, seed)
        curves.append(meter.finish())
        repeats += meter.repeats
    result = {"space": recording.label, "engine": peer} | summary(curves)
    result["repeats"] = repeats / len(curves)
    result["ask_s"] = (time.perf_counter() - start) / (len(curves) * int(evals))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
