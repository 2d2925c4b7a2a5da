# SPDX-License-Identifier: MIT
"""Many operations: full rings, many modules, everything in flight."""
import unittest

from harness import CODE_OBJECT, WORKLOADS, Case, need


class Load(Case):
    @need(WORKLOADS / "many_launches")
    def test_many_launches(self):
        """8 threads, 12,500 launches each, of 20 us kernels, nobody waits."""
        program = [WORKLOADS / "many_launches", 8, 12500]
        plain, _ = self.untraced(program, kernel_ns=20000)
        traced, log, trace = self.traced(program, kernel_ns=20000)
        self.assert_undisturbed(plain, traced)
        self.assertEqual(traced.code, 0, traced)
        self.assert_same(log, trace)
        # operations have slots of their own; calls share a ring a thread, which may be full
        self.assert_nothing_lost(trace, but=("call.ring-full",))
        recorded, lost = trace.calls("hipLaunchKernel"), trace.lost().get("call.ring-full", 0)
        self.assertLessEqual(recorded, 100000)
        self.assertGreaterEqual(recorded + lost, 100000, "calls are missing and not counted")

    @need(WORKLOADS / "modules", CODE_OBJECT)
    def test_modules(self):
        """1,000 modules at recycled addresses from 4 threads: no kernel misnamed."""
        program = [WORKLOADS / "modules", CODE_OBJECT, 1000, 4]
        plain, _ = self.untraced(program)
        traced, log, trace = self.traced(program)
        self.assert_undisturbed(plain, traced)
        self.assertEqual(traced.code, 0, traced)
        names = {o.kernel for o in log.operations() if "module_kernel" in (o.kernel or "")}
        self.assertEqual(len(names), 1000)
        objects = trace.value("SELECT count(DISTINCT y.kernel_object) FROM wt_symbol y"
                              " JOIN wt_string s ON s.id = y.name_id"
                              " WHERE s.string LIKE 'module_kernel%'")
        self.assertLess(objects, 1000, "no address was used twice: the test shows nothing")
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)

    @need(WORKLOADS / "in_flight")
    def test_in_flight(self):
        """With 20,000 operations in flight the application gets its signals' events."""
        program = [WORKLOADS / "in_flight", 20000]
        plain, plain_log = self.untraced(program, kernel_ns=400000)
        traced, log, trace = self.traced(program, kernel_ns=400000)
        self.assertEqual(plain.code, 0, plain)
        self.assertIn("next 100 signals: 100 events", plain.stdout)
        self.assert_undisturbed(plain, traced)
        self.assertEqual(log.total("interrupts") - plain_log.total("interrupts"), 0)
        self.assert_same(log, trace)


if __name__ == "__main__":
    unittest.main()
