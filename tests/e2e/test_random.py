# SPDX-License-Identifier: MIT
"""Random HIP programs: what they computed, and what their traces say.

A seed makes a program (workloads/random.hip): everything in it and all of its data follow from the
seed, how its threads run against each other does not. WAVETAP_RANDOM_SEED is the first new seed,
WAVETAP_RANDOM_MINUTES how long the soak takes.
"""
import os
import subprocess
import time
import unittest

import oracle
from harness import CODE_OBJECT, VGPU_RUN, WORKLOADS, Case, Hangs, need

FIXED = (1, 7, 18, 30)  # one found each of: patterns of graphs, rows of fills, captures
STEPS = 100
LIMIT_S = 300


def new_seed():
    """Another one each time; printed, so that it can be taken again."""
    return int(os.environ.get("WAVETAP_RANDOM_SEED") or int.from_bytes(os.urandom(4), "little"))


def minutes():
    return float(os.environ.get("WAVETAP_RANDOM_MINUTES") or "20")


def gpus(seed):
    return 1 + seed % 2


# Not among the daily tests: what they found on ROCm 6.4.3 and 7.2.4 (docs/HOWTO_TEST.md) is not explained yet.
@unittest.skipUnless(os.environ.get("WAVETAP_RANDOM_MINUTES") or os.environ.get("WAVETAP_SOAK"),
                     "set WAVETAP_RANDOM_MINUTES, or make soak")
class Random(Case):
    @staticmethod
    def program(seed):
        return [WORKLOADS / "random", seed, STEPS, CODE_OBJECT]

    def unfinished(self, log):
        """The packets that had been launched and have not ended, when the program was killed."""
        subprocess.run([VGPU_RUN, "--finish-log", log], check=False, capture_output=True)
        if not log.exists():
            return "no log"
        packets = [packet for packet in oracle.Log(log).packets if not packet.done]
        return "packets without end:\n" + "\n".join(map(str, packets[:20]))

    def run_program(self, seed):
        """One program without wavetap; the number of its operations on the GPU."""
        log = self.path(f"random{seed}.jsonl")
        command = self.vgpu(self.program(seed), log, gpus(seed))
        try:
            result = self.run_command(command, limit=LIMIT_S)
        except Hangs as failure:
            self.fail(f"seed {seed}: {failure}\n{self.unfinished(log)}")
        self.assertEqual(result.code, 0, f"seed {seed}: {result}")
        self.assertIn(" 0 failed", result.stdout, f"seed {seed}")
        count = len(oracle.Log(log).operations())
        log.unlink()
        return count, result

    def compare(self, seed, plain):
        """The same program traced: its data and its trace."""
        traced, log, trace = self.traced(self.program(seed), gpus=gpus(seed))
        self.assert_undisturbed(plain, traced)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace, but=("time.shared-signal",))

    @need(WORKLOADS / "random", CODE_OBJECT)
    def test_short(self):
        for seed in (*FIXED, new_seed()):
            with self.subTest(seed=seed):
                count, plain = self.run_program(seed)
                self.assertGreater(count, 20, plain)
                self.compare(seed, plain)

    @need(WORKLOADS / "random", CODE_OBJECT)
    def test_soak(self):
        seed, end = new_seed(), time.monotonic() + minutes() * 60
        print(f"random: first seed {seed}, {minutes()} minutes", flush=True)
        programs = operations = 0
        while time.monotonic() < end:
            count, plain = self.run_program(seed + programs)
            if programs % 10 == 0:
                with self.subTest(seed=seed + programs):
                    self.compare(seed + programs, plain)
            operations += count
            programs += 1
        print(f"random: {programs} programs, {operations} operations, no hang, all data right",
              flush=True)
        self.assertGreater(programs, 0)


if __name__ == "__main__":
    unittest.main()
