# SPDX-License-Identifier: MIT
"""Trees of processes in one trace; the environment that they find."""
import collections
import unittest

import oracle
from harness import EXAMPLES, LIBRARY, WAVETAP, WORKLOADS, Case, need


class Processes(Case):
    @need(WORKLOADS / "fork_tree")
    def test_tree(self):
        """fork, exec, vfork, posix_spawn, system, popen: process N launches N kernels."""
        program = [WORKLOADS / "fork_tree"]
        plain, _ = self.untraced(program)
        self.assertEqual(plain.code, 8, plain)
        traced, log, trace = self.traced(program)
        self.assert_undisturbed(plain, traced)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)
        of_process = collections.Counter()
        for operation in trace.operations:
            if operation.kernel == "_Z4leafPi":
                of_process[(operation.process, operation.grid[0] // 64)] += 1
        # the first process launches 1 and, at the end, 7; it execs and becomes number 8
        self.assertEqual(sorted((id_, n) for (_, id_), n in of_process.items()),
                         [(n, n) for n in range(1, 10)])
        first = next(p for p, id_ in of_process if id_ == 1)
        self.assertIn((first, 7), of_process)
        rows = {row[0]: row for row in trace.processes()}
        by_id = {id_: process for process, id_ in of_process}
        self.assertEqual(rows[by_id[1]][1], rows[by_id[8]][1], "exec keeps the pid")
        self.assertNotEqual(by_id[1], by_id[8], "exec begins a new process row")
        for id_, parent in ((2, 1), (3, 1), (4, 1), (9, 2)):
            self.assertEqual(rows[by_id[id_]][2], by_id[parent], f"parent of {id_}")

    @need(WORKLOADS / "fork_tree")
    def test_no_follow(self):
        """--follow no: the children are left alone."""
        program = [WORKLOADS / "fork_tree"]
        plain, _ = self.untraced(program)
        traced, _, trace = self.traced(program, ("--follow", "no"))
        self.assert_undisturbed(plain, traced)
        ids = {o.grid[0] // 64 for o in trace.operations if o.kernel == "_Z4leafPi"}
        self.assertEqual(ids, {1, 7})

    def test_existing_environment(self):
        """What LD_PRELOAD and HSA_TOOLS_LIB name already stays, in its order."""
        preload, tool = f"{LIBRARY.parent}/libvgpu.so", "/some/where/libtool.so"
        result = self.run_command(
            [WAVETAP, "trace", "-o", self.path("t.db"), "--", "env"],
            {"LD_PRELOAD": preload, "HSA_TOOLS_LIB": tool, "KEPT": "as it is"})
        env = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        self.assertEqual(env["KEPT"], "as it is")
        self.assertIn(preload, env["LD_PRELOAD"].replace(":", " ").split())
        self.assertIn(str(LIBRARY), env["LD_PRELOAD"].replace(":", " ").split())
        self.assertIn(tool, env["HSA_TOOLS_LIB"].split())
        self.assertIn(str(LIBRARY), env["HSA_TOOLS_LIB"].split())

    @need(EXAMPLES / "train_loop")
    def test_by_hand(self):
        """LD_PRELOAD + HSA_TOOLS_LIB + WAVETAP_OUTPUT, without `wavetap trace`."""
        program = [EXAMPLES / "train_loop"]
        plain, _ = self.untraced(program)
        log, db = self.path("hand.jsonl"), self.path("hand.db")
        traced = self.run_command(self.vgpu(
            ["sh", "-c", f"LD_PRELOAD=\"{LIBRARY} $LD_PRELOAD\" HSA_TOOLS_LIB={LIBRARY} "
             f"WAVETAP_OUTPUT={db} exec \"$@\"", "sh", *program], log))
        self.assert_undisturbed(plain, traced)
        trace = self.finished_trace(db)
        self.assert_same(oracle.Log(log), trace)
        self.assert_nothing_lost(trace)

    @need(EXAMPLES / "train_loop")
    def test_tools_lib_alone(self):
        """HSA_TOOLS_LIB alone: operations without calls, and the trace says so."""
        program = [EXAMPLES / "train_loop"]
        log, db = self.path("tool.jsonl"), self.path("tool.db")
        traced = self.run_command(
            self.vgpu(["env", f"HSA_TOOLS_LIB={LIBRARY}", f"WAVETAP_OUTPUT={db}", *program], log))
        self.assertEqual(traced.code, 0, traced)
        trace = self.finished_trace(db)
        problems = oracle.compare(oracle.Log(log), trace)
        self.assertFalse(problems, oracle.brief(problems))
        self.assertEqual(trace.calls(), 0)
        said = " ".join(text for (text,) in trace.rows("SELECT text FROM wt_status"))
        self.assertIn("preload", said)

    def finished_trace(self, db):
        """The collector works on when the program has ended: nobody waits for it."""
        self.wait_for("the trace", db.exists, 120)

        def complete():
            result = self.run_command([WAVETAP, "info", db])
            return result.code == 0
        self.wait_for("a complete trace", complete, 120)
        return self.trace(db)


if __name__ == "__main__":
    unittest.main()
