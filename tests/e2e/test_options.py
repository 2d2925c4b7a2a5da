# SPDX-License-Identifier: MIT
"""What --hip and -t leave out is counted by name: recorded + left out is what the program called."""
import collections
import json
import unittest

from harness import EXAMPLES, WAVETAP, WORKLOADS, Case, need

LOOP = EXAMPLES / "train_loop"
PACED = WORKLOADS / "paced"


def calls(trace):
    return collections.Counter(dict(trace.rows(
        "SELECT s.string, count(*) FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
        " JOIN wt_string s ON s.id = c.name_id GROUP BY 1")))


def left_out(trace):
    return collections.Counter(dict(trace.rows(
        "SELECT s.string, sum(u.count) FROM wt_unrecorded u JOIN wt_string s ON s.id = u.name_id"
        " GROUP BY 1")))


@need(LOOP)
class Options(Case):
    def run_with(self, *options):
        result, log, trace = self.traced([LOOP], options)
        self.assertEqual(result.code, 0, result)
        self.assert_nothing_lost(trace)
        return log, trace

    def test_hip(self):
        log, everything = self.run_with("--hip", "all")
        self.assert_same(log, everything)
        made = calls(everything)
        self.assertFalse(left_out(everything))
        launches = sum(1 for _ in everything.rows(
            "SELECT id FROM wt_op o WHERE shape_id IN (SELECT id FROM wt_shape WHERE kind = 1)"))
        self.assertEqual(made["hipLaunchKernel"], launches)
        self.assertEqual(made["__hipPushCallConfiguration"], launches)

        log, work = self.run_with()
        self.assert_same(log, work)
        self.assertEqual(calls(work) + left_out(work), made)
        self.assertEqual(left_out(work)["__hipPushCallConfiguration"], launches)
        self.assertFalse(set(calls(work)) & set(left_out(work)))
        self.assertIn("hipMemcpyAsync", calls(work))

        log, off = self.run_with("--hip", "off")
        self.assertFalse(calls(off))
        self.assertEqual(left_out(off), made)
        # what the GPU did is all there, and on its streams
        self.assertEqual(len(list(off.rows("SELECT id FROM wt_op"))), len(log.operations()))
        self.assertEqual(list(off.rows(
            "SELECT count(*) FROM wt_op o JOIN wt_lane l ON l.id = o.lane_id"
            " WHERE l.stream_id IS NULL"))[0][0], 0)

    def test_what(self):
        _, everything = self.run_with("--hip", "all")
        made = calls(everything)

        _, kernels = self.run_with("-t", "kernel")
        self.assertFalse(calls(kernels))
        self.assertEqual(left_out(kernels), made)

        _, no_memory = self.run_with("-t", "kernel,copy,hip", "--hip", "all")
        gone = left_out(no_memory)
        self.assertEqual(calls(no_memory) + gone, made)
        self.assertEqual(set(gone), {"hipMalloc", "hipFree", "hipHostMalloc", "hipHostFree"})

    @need(PACED)
    def test_window(self):
        """--delay and --for: recorded and counted is what ran; what is recorded knows its stream."""
        result, log, trace = self.traced([PACED, 9000], ["--delay", "4s", "--for", "4s"])
        self.assertEqual(result.code, 0, result)
        self.assert_nothing_lost(trace)
        recorded = trace.value("SELECT count(*) FROM wt_op")
        off = dict(trace.rows(
            "SELECT s.string, u.count FROM wt_unrecorded u JOIN wt_string s ON s.id = u.name_id"
            " JOIN wt_string d ON d.id = u.domain_id WHERE d.string = 'gpu'"))
        self.assertEqual(recorded + sum(off.values()), len(log.operations()), (recorded, off))
        self.assertGreater(recorded, 0)
        self.assertGreater(sum(off.values()), 0)
        self.assertEqual(trace.value(
            "SELECT count(*) FROM wt_op o JOIN wt_lane l ON l.id = o.lane_id"
            " JOIN wt_stream s ON s.id = l.stream_id WHERE s.kind = 'created'"), recorded)
        self.assertEqual(trace.value("SELECT count(*) FROM wt_status WHERE text LIKE 'recording %'"),
                         2)

    def test_said(self):
        _, _, db = self.traced([LOOP], ["--hip", "off"], load=False)
        summary = self.run_command([WAVETAP, "summary", db])
        self.assertIn("left out", summary.stdout, summary)
        told = json.loads(self.run_command([WAVETAP, "summary", "--json", db]).stdout)
        self.assertIn("hipMemcpyAsync", {call["name"] for call in told["unrecorded"]})


if __name__ == "__main__":
    unittest.main()
