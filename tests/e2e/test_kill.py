# SPDX-License-Identifier: MIT
"""Killed at a random moment, WAVETAP_KILLS times (5): what the GPU did is in the trace."""
import os
import random
import signal
import subprocess
import time
import unittest

import oracle
from harness import WAVETAP, WORKLOADS, Case, need

KILLS = int(os.environ.get("WAVETAP_KILLS", "5"))
SEED = int(os.environ.get("WAVETAP_SEED", "0")) or random.randrange(1, 1 << 32)


class Kill(Case):
    def kill_once(self, number, delay):
        log, db = self.path(f"{number}.jsonl"), self.path(f"{number}.db")
        out = self.path(f"{number}.out")
        command = self.vgpu([WAVETAP, "trace", "-o", db, "--", WORKLOADS / "kill_me"], log)
        with open(out, "wb") as stdout:
            process = subprocess.Popen([str(c) for c in command], stdout=stdout,
                                       stderr=subprocess.STDOUT, env=self.environment(),
                                       cwd=self.dir, start_new_session=True)
        self.wait_for("the program to begin", lambda: b"ready" in out.read_bytes()
                      or process.poll() is not None, 120)
        self.assertIsNone(process.poll(), out.read_text())
        victim = int(out.read_text().split("ready ")[1].split()[0])
        time.sleep(delay)
        os.kill(victim, signal.SIGKILL)
        code = process.wait(timeout=300)
        # a shell would say 137: the signal is passed on
        self.assertIn(code, (-signal.SIGKILL, 128 + signal.SIGKILL), out.read_text())
        return oracle.Log(log), self.trace(db)

    @need(WORKLOADS / "kill_me")
    def test_killed(self):
        chance = random.Random(SEED)
        in_flight = 0
        for number in range(KILLS):
            delay = chance.uniform(0, 0.3)
            with self.subTest(kill=number, seed=SEED, delay=delay):
                log, trace = self.kill_once(number, delay)
                problems = oracle.compare(log, trace, late_per_queue=1)
                self.assertFalse(problems, oracle.brief(problems))
                self.assertTrue(log.operations(), "nothing ran")
                in_flight += sum(o.in_flight for o in trace.operations)
                exit_kinds = {row[4] for row in trace.processes()}
                self.assertEqual(exit_kinds, {2}, "the process is not marked as killed")
                for suffix in (".jsonl", ".db", ".out"):
                    self.path(f"{number}{suffix}").unlink()
        print(f"{KILLS} kills, seed {SEED}, {in_flight} operations in flight")
        if KILLS >= 5:
            self.assertGreater(in_flight, 0, "nothing was ever in flight: the test shows little")


if __name__ == "__main__":
    unittest.main()
