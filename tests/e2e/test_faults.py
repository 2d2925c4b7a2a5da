# SPDX-License-Identifier: MIT
"""Programs on a GPU that fails: they end as without the tracer, the trace is complete up to the fault."""
import signal
import unittest

from harness import BUILD, Case, Hangs, need

PROGRAM = BUILD / "vgpu_hip_work"
HSA = BUILD / "vgpu_hsa_faults"


class Faults(Case):
    def run_with(self, fault, command, same_output=True, limit=None, **allowed):
        """Untraced and traced result, log and trace, compared."""
        env = {"VGPU_FAULT": fault}
        plain, plain_log = self.untraced(command, env=env, limit=limit)
        traced, log, trace = self.traced(command, env=env, limit=limit)
        self.assertTrue(plain_log.faults and log.faults, f"{fault}: nothing happened")
        self.assertEqual({f["fault"] for f in plain_log.faults}, {f["fault"] for f in log.faults})
        if same_output:
            self.assert_undisturbed(plain, traced)
        self.assertEqual(plain.code, traced.code, f"untraced: {plain}\ntraced: {traced}")
        if log.operations():
            self.assert_same(log, trace, **allowed)
            self.assert_nothing_lost(trace)
        return traced, log, trace

    def in_flight(self, log, trace):
        """What the GPU had begun or not, and will never end, is said to be in flight."""
        unended = sum(not p.done for p in log.operations())
        self.assertGreater(unended, 0, "the fault struck nothing")
        self.assertGreaterEqual(sum(o.in_flight for o in trace.operations), unended)

    @need(PROGRAM)
    def test_queue_error(self):
        """HIP aborts out of the queue's callback; HIP 7 gives the program an error."""
        # HIP 7 prints the kernel's addresses; what completed just before the abort may not have
        # been read by the tracer any more. The program has one queue: one that exits because of
        # the error frees its code while another queue still runs it, which the log cannot name.
        result, log, trace = self.run_with("queue-error,kernel=work_empty,nth=4",
                                           [PROGRAM, "launch-and-ask"], same_output=False,
                                           late_per_queue=64)
        self.assertNotEqual(result.code, 0, result)
        self.in_flight(log, trace)

    @need(PROGRAM)
    def test_memory_fault(self):
        """ROCr ends the program, or HIP gives it an error; it does not wait for the GPU here."""
        for left in reversed(range(4)):
            try:
                result, log, trace = self.run_with("memory,kernel=work_empty,nth=1", [PROGRAM, "launch-and-ask"],
                                                   limit=60, late_per_queue=64)
                break
            except Hangs:
                # ROCr 5.2, traced or not, in about one run of 50: its threads spin and never ask for the fault
                if not left:
                    raise
        self.assertNotEqual(result.code, 0, result)
        if result.code == -signal.SIGABRT:
            self.assertIn("Memory access fault by GPU node-1", result.stderr)
        self.in_flight(log, trace)

    @need(PROGRAM)
    def test_slow(self):
        """Stalls and late or lost interrupts: everything is there, only later."""
        for fault in ("stall,kernel=work_empty,every=5,for=3ms", "late-interrupt,by=5ms,every=2",
                      "stall,kernel=work_long,for=20ms;late-interrupt,by=1ms"):
            with self.subTest(fault=fault):
                result, _, trace = self.run_with(fault, [PROGRAM, "counted", 30])
                self.assertEqual(result.code, 0, result)
                self.assertFalse([o for o in trace.operations if o.in_flight])

    @need(PROGRAM)
    def test_failing_calls(self):
        """The program gets its own errors, whatever its HIP makes of them: 6.4.3 goes on without a queue."""
        for fault, command, code in (("alloc,above=100M", "big", 0), ("create-queue", "tiny", None),
                                     ("map,gpu=0", "tiny", None)):
            with self.subTest(fault=fault):
                result, _, _ = self.run_with(fault, [PROGRAM, command])
                if code is not None:
                    self.assertEqual(result.code, code, result)

    @need(HSA)
    def test_survivor(self):
        """A program with handlers of its own hears of it and ends in order."""
        for fault, text in (("memory,packet=5,address=0x5000", "memory fault 0x5000 reasons 0x1\n"
                             "5 packets complete"),
                            ("queue-error,packet=2", "queue error 0x2a\n2 packets complete")):
            with self.subTest(fault=fault):
                result, _, _ = self.run_with(fault, [HSA])
                self.assertTrue(result.stdout.startswith(text), result)
                self.assertEqual(result.code, 0, result)


if __name__ == "__main__":
    unittest.main()
