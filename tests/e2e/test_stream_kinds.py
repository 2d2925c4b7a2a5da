# SPDX-License-Identifier: MIT
"""Every kind of stream: which are one, which are several, whose device they are.

The program (workloads/stream_kinds.hip) numbers its kernels by their grid and writes for each the
name of its stream: equal names are one stream.
"""
import unittest

import oracle
from harness import CODE_OBJECT, WORKLOADS, Case, need

KINDS = WORKLOADS / "stream_kinds"
PER_THREAD = WORKLOADS / "stream_kinds_per_thread"
OF_KIND = {"null": "null", "main": "per-thread", "other": "per-thread"}  # the others: created
NO_CALL = ("caller.worker", "caller.outside")


class Kinds(Case):
    def run_kinds(self, program, env=None, direct=1, numbered=True):
        """numbered: the runtime numbers all GPUs, as the log does."""
        path = self.path(f"truth{self.count}")
        env = {"AMD_DIRECT_DISPATCH": direct, **(env or {})}
        result, log, trace = self.traced([program, path, CODE_OBJECT], gpus=2, env=env)
        self.assertEqual(result.code, 0, result)
        if numbered:
            self.assert_same(log, trace)
        rows = [line.split() for line in path.read_text().splitlines()]
        truth = {int(row[0]): row[2] for row in rows if row[0] != "0"}
        self.assertIn("reused", [row[2] for row in rows], "no handle came again")
        return trace, truth

    def check(self, trace, truth, direct=1):
        """Returns the streams: name to number."""
        marks = [o for o in trace.operations if o.kind == oracle.KERNEL
                 and o.kernel in ("_Z4markPii", "module_kernel_000000")]
        self.assertEqual(sorted(o.grid[0] // 64 for o in marks), sorted(truth))
        streams, unnamed = {}, 0
        for o in marks:
            name = truth[o.grid[0] // 64]
            if o.stream is None:
                self.assertTrue("?" in name or not direct, f"{o}: {name}")
                unnamed += 1
                continue
            name = name.replace("?", "")
            self.assertEqual(streams.setdefault(name, o.stream), o.stream, f"{o}: {name}")
        self.assertEqual(len(set(streams.values())), len(streams), streams)
        # each stream's device is the one on which its kernels ran
        for number, device, lane in trace.rows(
                "SELECT DISTINCT m.number, m.device_id, l.device_id FROM wt_op o"
                " JOIN wt_lane l ON l.id = o.lane_id JOIN wt_shape s ON s.id = o.shape_id"
                " JOIN wt_stream m ON m.id = l.stream_id WHERE s.kind = 1"):
            self.assertEqual(device, lane, f"stream {number}")
        described = {number: row for number, *row in trace.rows(
            "SELECT number, kind, priority, ended IS NOT NULL FROM wt_stream")}
        for name, number in streams.items():
            kind, priority, ended = described[number]
            word = name.rstrip("0123456789")
            self.assertEqual(kind, OF_KIND.get(word, "created"), name)
            self.assertEqual(ended, kind == "created", name)
            self.assertEqual(priority, {"high": -1, "low": 1}.get(word, 0), name)
        if direct:
            self.assertEqual(trace.lost().get("stream.unnamed", 0), unnamed)
            self.assert_nothing_lost(trace, but=("stream.unnamed",))
        else:
            self.assertEqual(sum(o.stream is None for o in trace.operations), sum(
                trace.lost().get(f"stream.{cause}", 0) for cause in ("unnamed", "hidden", "outside")))
        return streams

    @need(KINDS, CODE_OBJECT)
    def test_direct(self):
        trace, truth = self.run_kinds(KINDS)
        streams = self.check(trace, truth)
        self.assertEqual(len(streams), 2 * len(
            ("null", "main", "other", "first", "again", "high", "low", "masked", "plain")))
        queues = {o.stream: o.hsa_id for o in trace.operations if o.kind == oracle.KERNEL}
        asked = {hsa_id: (priority, mask) for hsa_id, priority, mask in trace.rows(
            "SELECT hsa_id, priority, cu_mask FROM wt_queue")}
        for device in "01":
            self.assertEqual(asked[queues[streams["high" + device]]][0], 2)
            self.assertEqual(asked[queues[streams["low" + device]]][0], 0)
            self.assertEqual(int(asked[queues[streams["masked" + device]]][1], 16), 0xff)
            self.assertIsNone(asked[queues[streams["null" + device]]][1])
        calls = dict(trace.rows(
            "SELECT s.string, m.number FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
            " JOIN wt_string s ON s.id = c.name_id JOIN wt_stream m ON m.id = c.stream_id"
            " WHERE s.string IN ('hipLaunchHostFunc', 'hipStreamAddCallback') ORDER BY a.id"))
        self.assertIn("hipStreamAddCallback", calls)
        self.assertEqual(set(calls.values()), {streams["plain0"]})

    @need(PER_THREAD, CODE_OBJECT)
    def test_per_thread(self):
        """Compiled so that no stream means the thread's own."""
        self.check(*self.run_kinds(PER_THREAD))

    @need(KINDS, PER_THREAD, CODE_OBJECT)
    def test_workers(self):
        """AMD_DIRECT_DISPATCH=0: what is said is right."""
        for program in (KINDS, PER_THREAD):
            with self.subTest(program.name):
                trace, truth = self.run_kinds(program, direct=0)
                streams = self.check(trace, truth, direct=0)
                names = {name.replace("?", "") for name in truth.values()}
                known = sum(o.stream is not None for o in trace.operations)
                print(f"{program.name}: {len(streams)} of {len(names)} streams,"
                      f" {known} of {len(trace.operations)} operations", flush=True)
                for name in ("first", "again", "high", "low", "masked", "plain", "main"):
                    self.assertIn(f"{name}0", streams)

    @need(KINDS, CODE_OBJECT)
    def test_visible_devices(self):
        """HIP's number of a device is not ours: the stream's device is that of its kernels."""
        for variable, value in (("HIP_VISIBLE_DEVICES", "1,0"), ("CUDA_VISIBLE_DEVICES", "1"),
                                ("ROCR_VISIBLE_DEVICES", "1")):
            with self.subTest(f"{variable}={value}"):
                trace, truth = self.run_kinds(KINDS, {variable: value},
                                              numbered=variable[0] != "R")
                streams = self.check(trace, truth)
                if value == "1,0":
                    device = dict(trace.rows("SELECT m.number, d.number FROM wt_stream m"
                                             " JOIN wt_device d ON d.id = m.device_id"))
                    self.assertEqual(device[streams["null0"]], 1)
                    self.assertEqual(device[streams["null1"]], 0)


if __name__ == "__main__":
    unittest.main()
