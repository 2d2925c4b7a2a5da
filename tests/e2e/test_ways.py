# SPDX-License-Identifier: MIT
"""Each way by which a program's HIP calls reach the wrappers, besides being linked with HIP."""
import unittest

from harness import CODE_OBJECT, WORKLOADS, Case, need

NO_WAY = 77
ROUNDS = 20


class Ways(Case):
    def looked_up(self, way, options=(), rounds=ROUNDS):
        """Runs the program untraced and traced; None where this HIP has no such way."""
        program = [WORKLOADS / "looked_up", way, CODE_OBJECT, rounds]
        plain, _ = self.untraced(program)
        if plain.code == NO_WAY:
            self.skipTest(f"this HIP has no {way}")
        self.assertEqual(plain.code, 0, plain)
        traced, log, trace = self.traced(program, options)
        self.assert_undisturbed(plain, traced)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)
        self.copy = traced.stdout.split()[-1]
        return trace

    def assert_calls(self, trace, rounds=ROUNDS):
        """Every call once, and each kernel is its launch's."""
        for name, count in (("hipMalloc", rounds), (self.copy, 2 * rounds), ("hipFree", rounds),
                            ("hipStreamCreate", rounds), ("hipModuleLaunchKernel", rounds),
                            ("hipStreamSynchronize", rounds), ("hipStreamDestroy", rounds),
                            ("hipModuleLoad", 1), ("hipModuleUnload", 1)):
            self.assertEqual(trace.calls(name), count, name)
        causes = trace.rows(
            "SELECT n.string, count(*) FROM wt_op o JOIN wt_shape s ON s.id = o.shape_id"
            " JOIN wt_symbol y ON y.id = s.symbol_id JOIN wt_string k ON k.id = y.name_id"
            " JOIN wt_api a ON a.id = o.api_id JOIN wt_call c ON c.id = a.call_id"
            " JOIN wt_string n ON n.id = c.name_id"
            " WHERE k.string LIKE 'module_kernel%' GROUP BY n.string")
        self.assertEqual(causes, [("hipModuleLaunchKernel", rounds)])

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_handle(self):
        self.assert_calls(self.looked_up("handle"))

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_default(self):
        self.assert_calls(self.looked_up("default"))

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_versioned(self):
        self.assert_calls(self.looked_up("versioned"))

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_proc(self):
        trace = self.looked_up("proc", ("--hip", "all"))
        self.assert_calls(trace)
        self.assertEqual(trace.calls("hipGetProcAddress"), 8 * ROUNDS + 4)

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_proc_spt(self):
        """HIP 6.4 hands out the plain functions all the same."""
        self.assert_calls(self.looked_up("proc-spt"))
        self.assertIn(self.copy, ("hipMemcpy", "hipMemcpy_spt"))

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_entry(self):
        trace = self.looked_up("entry", ("--hip", "all"))
        self.assert_calls(trace)
        self.assertEqual(trace.calls("hipGetDriverEntryPoint"), 8 * ROUNDS + 4)

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_reopened(self):
        """The runtime comes and goes before it is used."""
        self.assert_calls(self.looked_up("reopened"), rounds=1)

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_no_dlsym(self):
        trace = self.looked_up("handle", ("--no-dlsym",))
        self.assertEqual(trace.value("SELECT count(*) FROM wt_api"), 0)


if __name__ == "__main__":
    unittest.main()
