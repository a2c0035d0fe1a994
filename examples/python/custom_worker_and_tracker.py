#!/usr/bin/env python3
"""A worker of one's own, which runs evaluations in threads, and a tracker of one's own, which writes JSON lines.
usage: custom_worker_and_tracker.py [EVALUATIONS]"""
import json
import queue
import sys
import threading
import time

import hone.space as ss
from hone import Callback, Search
from hone.workers import Done, Worker


class Threads(Worker):
    """Evaluates in threads of this process: for objectives that wait (for a service, a device) and are safe to share."""

    def start(self, job):
        self.evaluate, self.room, self.running = job.evaluate, job.num_workers or 4, 0
        self.finished = queue.Queue()

    def free(self):
        return self.room - self.running

    def submit(self, task):
        self.running += 1
        threading.Thread(target=lambda: self.finished.put(Done(task.id, self.evaluate(task.config)))).start()

    def wait(self, timeout):
        try:
            done = [self.finished.get(timeout=timeout)]
        except queue.Empty:
            return []
        self.running -= 1
        return done

    def stop(self):
        while self.running:
            self.wait(None)


class JsonLines(Callback):
    def on_start(self, search):
        self.out = open("trials.jsonl", "w", encoding="utf-8")

    def on_trial(self, search, trial):
        self.out.write(json.dumps({"id": trial.id, "class": trial.cls, "values": trial.values, "config": trial.config}) + "\n")

    def on_end(self, search, results):
        self.out.close()
        print(len(results), "lines in trials.jsonl, ended by", results.reason)


def ask_a_service(config):
    time.sleep(0.01)  # the others go on meanwhile
    return (config["x"] - 40) ** 2


evals = int(sys.argv[1]) if len(sys.argv) > 1 else 60
search = Search(ask_a_service, {"x": ss.range(0, 100)}, max_evals=evals, seed=1, callbacks=[JsonLines()])
print(search.run(num_workers=8, worker=Threads()))
