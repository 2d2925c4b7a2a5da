# SPDX-License-Identifier: MIT
"""SIGKILL of the collector: the program goes on, `wavetap recover` finishes the trace."""
import os
import pathlib
import signal
import struct
import subprocess
import time
import unittest

import oracle
from harness import WAVETAP, WORKLOADS, Case, need


def session_of(pid):
    """The session folder that a traced process was told."""
    for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if entry.startswith(b"WAVETAP_SESSION="):
            return pathlib.Path(entry.split(b"=", 1)[1].decode())
    return None


def collector_of(session):
    """struct wt_session_shared: magic, version, collector_pid."""
    magic, _, pid = struct.unpack_from("=8sII", (session / "session").read_bytes())
    assert magic == b"AWTSESN1", magic
    return pid


class Collector(Case):
    @need(WORKLOADS / "many_launches")
    def test_killed(self):
        program = [WORKLOADS / "many_launches", 4, 20000]
        plain, _ = self.untraced(program, kernel_ns=100000)
        log, db = self.path("t.jsonl"), self.path("t.db")
        out = self.path("out")
        with open(out, "wb") as stdout, open(self.path("err"), "wb") as stderr:
            process = subprocess.Popen(
                [str(c) for c in self.vgpu([WAVETAP, "trace", "-o", db, "--", *program], log,
                                           kernel_ns=100000)],
                stdout=stdout, stderr=stderr, env=self.environment(), cwd=self.dir)
        victim = self.traced_child(process.pid, "many_launches")
        session = session_of(victim)
        self.wait_for("the first operations", lambda: list(session.glob("q*")))
        time.sleep(0.3)
        os.kill(collector_of(session), signal.SIGKILL)
        code = process.wait(timeout=300)
        stderr = self.path("err").read_text(errors="replace")
        self.assertEqual(code, plain.code, stderr)
        self.assertEqual(out.read_text(), plain.stdout)
        self.assertIn("recover", stderr, "nothing says how to finish the trace")

        result = self.run_command([WAVETAP, "recover", session])
        self.assertEqual(result.code, 0, result)
        trace = self.trace(db)
        happened = oracle.Log(log)
        self.assertTrue(trace.operations)
        missing = [p for p in oracle.compare(happened, trace, late_per_queue=1)
                   if p.startswith("not in the trace")]
        wrong = [p for p in oracle.compare(happened, trace, late_per_queue=1)
                 if not p.startswith("not in the trace")]
        self.assertFalse(wrong, oracle.brief(wrong))
        self.assertLessEqual(len(missing), sum(trace.lost().values()), trace.lost())
        self.assertTrue(trace.lost().get("collector.gone") or not missing, trace.lost())

    def traced_child(self, root, name):
        """The pid below `root` that runs `name`."""
        found = []

        def look():
            for stat in pathlib.Path("/proc").glob("[0-9]*/comm"):
                try:
                    if stat.read_text().strip() == name[:15] \
                            and session_of(stat.parent.name) is not None:
                        found.append(int(stat.parent.name))
                except OSError:
                    continue
            return bool(found)
        del root
        self.wait_for(f"{name} to run", look)
        return found[0]


if __name__ == "__main__":
    unittest.main()
