# SPDX-License-Identifier: MIT
"""Little or no shared memory: the program runs, and the trace says what it lacks."""
import os
import subprocess
import unittest

import oracle
from harness import EXAMPLES, WAVETAP, Case, need

OPERATION_LOSSES = ("operation.no-slots", "operation.slot-busy")


def may_unshare():
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(may_unshare(), "needs root and unshare -m")
class Memory(Case):
    def run_with(self, mount, options=()):
        """The example with another /dev/shm, traced and untraced."""
        inside = ["unshare", "-m", "sh", "-c", f"{mount} && exec \"$@\"", "sh"]
        program = [EXAMPLES / "train_loop", 40]
        plain, plain_log = self.untraced(inside + program)
        log, db = self.path("traced.jsonl"), self.path("traced.db")
        traced = self.run_command(self.vgpu(
            inside + [WAVETAP, "trace", "-o", db, *options, "--", *program], log))
        self.assert_undisturbed(plain, traced)
        self.assertEqual(len(plain_log.operations()), len(oracle.Log(log).operations()))
        trace = self.trace(db)
        self.assert_same(oracle.Log(log), trace, lost=OPERATION_LOSSES)
        return trace

    @need(EXAMPLES / "train_loop")
    def test_small(self):
        self.run_with("mount -t tmpfs -o size=1M tmpfs /dev/shm")

    @need(EXAMPLES / "train_loop")
    def test_none(self):
        self.run_with("mount -t tmpfs -o ro tmpfs /dev/shm")

    @need(EXAMPLES / "train_loop")
    def test_session_cap(self):
        """--buffer leaves no room for a second queue's slots: counted, not crashed."""
        trace = self.run_with("true", ("--buffer", "8M"))
        self.assertTrue(any(trace.lost().get(cause) for cause in OPERATION_LOSSES), trace.lost())


if __name__ == "__main__":
    unittest.main()
