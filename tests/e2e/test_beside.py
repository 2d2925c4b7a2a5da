# SPDX-License-Identifier: MIT
"""Beside other tools in the same process: each sees what it sees alone."""
import collections
import unittest

import oracle
from harness import DOUBLES, EXAMPLES, LIBRARY, WORKLOADS, Case, need

KERNEL_NS = 7000


class Report:
    """What a double saw: per queue, in order, (name, start, end)."""

    def __init__(self, path):
        self.queues = collections.defaultdict(list)
        for line in path.read_text().splitlines():
            queue, sequence, start, end, name = line.split(" ", 4)
            self.queues[int(queue)].append((int(sequence), int(start), int(end), name))
        for queue in self.queues.values():
            queue.sort()

    def names(self):
        """Queues in their order of creation; those that saw no dispatch do not count."""
        return [[row[3] for row in self.queues[q]] for q in sorted(self.queues)]

    def times(self):
        return sorted((start, end) for q in self.queues.values() for _, start, end, _ in q)


class Beside(Case):
    def beside(self, double, program, order, untimed=()):
        """`order`: "after" and "before" put wavetap in the list of tools by hand, "trace" leaves
        it to `wavetap trace`."""
        double = DOUBLES / f"double_{double}.so"
        alone = self.path("alone.report")
        plain, _ = self.untraced(program, kernel_ns=KERNEL_NS, env={
            "HSA_TOOLS_LIB": double, "DOUBLE_REPORT": alone})
        self.assertEqual(plain.code, 0, plain)
        both = self.path("both.report")
        log, db = self.path("both.jsonl"), self.path("both.db")
        env = {"HSA_TOOLS_LIB": double, "DOUBLE_REPORT": both}
        if order == "trace":
            traced, happened, trace = self.traced(program, kernel_ns=KERNEL_NS, env=env)
        else:
            tools = [str(LIBRARY), str(double)]
            if order == "after":
                tools.reverse()
            env.update({"HSA_TOOLS_LIB": " ".join(tools), "WAVETAP_OUTPUT": db})
            traced = self.run_command(self.vgpu(
                ["sh", "-c", f"LD_PRELOAD=\"{LIBRARY} $LD_PRELOAD\" exec \"$@\"", "sh", *program],
                log, kernel_ns=KERNEL_NS), env)
            self.wait_for("the trace", db.exists, 120)
            happened, trace = oracle.Log(log), self.trace(db)
        self.assert_undisturbed(plain, traced)
        first, second = Report(alone), Report(both)
        self.assertTrue(first.names())
        self.assertEqual(first.names(), second.names())
        self.assert_times(second, happened)
        self.assert_same(happened, trace, untimed=untimed)

    def assert_times(self, report, log):
        """The other tool's times are those of the hardware."""
        executed = sorted((p.start, p.end) for p in log.operations() if not p.sdma)
        seen = report.times()
        self.assertEqual(len(executed), len(seen))
        for (start, end), (seen_start, seen_end) in zip(executed, seen):
            self.assertLessEqual(abs(start - seen_start), oracle.TOLERANCE_NS)
            self.assertLessEqual(abs(end - seen_end), oracle.TOLERANCE_NS)

    @need(EXAMPLES / "train_loop", DOUBLES / "double_hsa_tool.so")
    def test_hsa_tool(self):
        self.beside("hsa_tool", [EXAMPLES / "train_loop"], "trace", {"time.other-tool"})

    @need(EXAMPLES / "train_loop", DOUBLES / "double_hsa_tool.so")
    def test_hsa_tool_first(self):
        self.beside("hsa_tool", [EXAMPLES / "train_loop"], "after", {"time.other-tool"})

    @need(EXAMPLES / "train_loop", DOUBLES / "double_hsa_tool.so")
    def test_hsa_tool_last(self):
        self.beside("hsa_tool", [EXAMPLES / "train_loop"], "before", {"time.other-tool"})

    @need(EXAMPLES / "graph_replay", DOUBLES / "double_rocprofiler_sdk.so")
    def test_sdk_first(self):
        self.beside("rocprofiler_sdk", [EXAMPLES / "graph_replay"], "after", {"time.other-tool"})

    @need(EXAMPLES / "pipeline", DOUBLES / "double_rocprofiler_sdk.so")
    def test_sdk_trace(self):
        self.beside("rocprofiler_sdk", [EXAMPLES / "pipeline"], "trace", {"time.other-tool"})

    @need(WORKLOADS / "many_launches", DOUBLES / "double_rocprofiler_sdk.so")
    def test_sdk_threads(self):
        """Several threads ring doorbells at the same time."""
        double = DOUBLES / "double_rocprofiler_sdk.so"
        program = [WORKLOADS / "many_launches", 4, 2000]
        report = self.path("both.report")
        traced, happened, trace = self.traced(program, kernel_ns=KERNEL_NS, env={
            "HSA_TOOLS_LIB": double, "DOUBLE_REPORT": report})
        self.assertEqual(traced.code, 0, traced)
        self.assert_times(Report(report), happened)
        self.assert_same(happened, trace, untimed={"time.other-tool"})


if __name__ == "__main__":
    unittest.main()
