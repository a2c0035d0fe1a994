"""OpenTuner over many compiler controls, asked and told through TuningRunManager, with its default techniques.

As in OpenTuner's own gcc-flags example a control with few states is an EnumParameter, one of them `absent`, and an
integer an IntegerParameter; an optional integer has an EnumParameter beside it that says whether it is given.
"""

import logging
import os
import random
import tempfile

import numpy as np
import opentuner
from opentuner.api import TuningRunManager
from opentuner.measurement.interface import DefaultMeasurementInterface
from opentuner.resultsdb.models import Result
from opentuner.search.manipulator import ConfigurationManipulator, EnumParameter, IntegerParameter

ABSENT = "absent"


def _manipulator(params):
    m = ConfigurationManipulator()
    for p in params:
        if p["kind"] == "int":
            m.add_parameter(IntegerParameter(p["name"], int(p["lo"]), int(p["hi"])))
            if p["optional"]:
                m.add_parameter(EnumParameter("given " + p["name"], [True, False]))
        elif p["kind"] in ("flag", "choice", "ordinal"):
            values = [False, True] if p["kind"] == "flag" else list(p["values"])
            m.add_parameter(EnumParameter(p["name"], values + ([ABSENT] if p["optional"] else [])))
    return m


class OpenTuner:
    def __init__(self, params, seed, evals):
        random.seed(seed)
        np.random.seed(seed)
        logging.disable(logging.WARNING)
        self.params = params
        self.folder = tempfile.TemporaryDirectory()
        database = os.path.join(self.folder.name, "opentuner.db")
        args = opentuner.default_argparser().parse_args(["--no-dups", "--database", "sqlite:///" + database])
        args.test_limit = evals + 1
        interface = DefaultMeasurementInterface(
            args=args, manipulator=_manipulator(params), project_name="high-dim", program_name="c", program_version="1"
        )
        self.manager = TuningRunManager(interface, args)

    def ask(self):
        return self.manager.get_next_desired_result()

    def point(self, desired):
        data, out = desired.configuration.data, {}
        for p in self.params:
            name = p["name"]
            if data.get("given " + name, True) and data.get(name, ABSENT) != ABSENT:
                out[name] = data[name]
        return out

    def tell(self, desired, cost):
        if cost is None:
            self.manager.report_result(desired, Result(time=float("inf"), state="ERROR"))
        else:
            self.manager.report_result(desired, Result(time=cost))

    def close(self):
        self.manager.finish()
        self.folder.cleanup()
