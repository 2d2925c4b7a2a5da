# SPDX-License-Identifier: MIT
"""Each way by which a program's HIP calls reach the wrappers, besides being linked with HIP."""
import ctypes
import unittest

import oracle
from harness import CODE_OBJECT, DOUBLES, EXAMPLES, LIBRARY, WORKLOADS, Case, need
from test_beside import Report

OWN = (LIBRARY, LIBRARY.with_name("libwavetap_register.so"))
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


    def preloads(self, kept, options=()):
        """What a program that the traced one becomes has in LD_PRELOAD."""
        traced, _, _ = self.traced(
            [WORKLOADS / "looked_up", "handle", CODE_OBJECT, 1, kept], options)
        self.assertEqual(traced.code, 0, traced)
        self.assertIn("A=1", traced.stdout)
        lines = [line for line in traced.stdout.splitlines() if line.startswith("LD_PRELOAD=")]
        return lines[0].split("=")[1].split(":") if lines else []

    @need(WORKLOADS / "looked_up", CODE_OBJECT)
    def test_children(self):
        """Children get both libraries, or none."""
        own = [str(path) for path in OWN]
        self.assertEqual(self.preloads("cleared"), own)
        self.assertEqual([path for path in self.preloads("kept") if path in own], own)
        self.assertFalse(set(self.preloads("kept", ("--follow", "no"))) & set(own))


REGISTRAR = DOUBLES / "double_hsa_registrar.so"
SDK = DOUBLES / "double_rocprofiler_sdk.so"
REGISTER = DOUBLES / "hip" / "register.so"
REAL_REGISTER = "librocprofiler-register.so.0"


def can_load(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


class Register(Case):
    """The HSA runtime's tables come through rocprofiler-register."""

    def hand_over(self, register, preload, tools, db=None, report=None):
        program = [EXAMPLES / "train_loop"]
        self.count += 1
        log = self.path(f"by-hand{self.count}.jsonl")
        env = {"HSA_TOOLS_LIB": " ".join(map(str, tools)), "HSA_REGISTRAR": register}
        if db:
            env["WAVETAP_OUTPUT"] = db
        if report:
            env["DOUBLE_REPORT"] = report
        libraries = ":".join(map(str, preload))
        result = self.run_command(self.vgpu(
            ["sh", "-c", f"LD_PRELOAD=\"{libraries}:$LD_PRELOAD\" exec \"$@\"", "sh", *program],
            log, kernel_ns=7000), env)
        self.assertEqual(result.code, 0, result)
        if not db:
            return result, oracle.Log(log), None
        self.wait_for("the trace", db.exists, 120)
        return result, oracle.Log(log), self.trace(db)

    def alone(self, register):
        """We take the tables; the runtime loads its tools all the same, and finds us twice."""
        result, log, trace = self.hand_over(register, OWN, (REGISTRAR, LIBRARY), self.path("t.db"))
        self.assertNotIn("hsa_registrar: 0", result.stderr)
        self.assertIn("hsa_registrar: ", result.stderr)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM wt_status WHERE source = 'hsa'"
                                     " AND text LIKE 'HSA runtime%'"), 1)

    def beside_sdk(self, register):
        """The SDK gets the tables after us, and OnLoad is never called: both see everything."""
        alone, both = self.path("alone"), self.path("both")
        self.hand_over(register, (SDK,), (REGISTRAR,), report=alone)
        result, log, trace = self.hand_over(register, (*OWN, SDK), (REGISTRAR,),
                                            self.path("t.db"), both)
        self.assertIn("hsa_registrar: 0", result.stderr)
        self.assertTrue(Report(alone).names())
        self.assertEqual(Report(alone).names(), Report(both).names())
        self.assert_same(log, trace, untimed={"time.other-tool"})

    @need(EXAMPLES / "train_loop", REGISTRAR, REGISTER)
    def test_alone(self):
        self.alone(REGISTER)

    @need(EXAMPLES / "train_loop", REGISTRAR, REGISTER, SDK)
    def test_beside_sdk(self):
        self.beside_sdk(REGISTER)

    @unittest.skipUnless(can_load(REAL_REGISTER), f"{REAL_REGISTER} is not installed")
    @need(EXAMPLES / "train_loop", REGISTRAR)
    def test_alone_real(self):
        self.alone(REAL_REGISTER)

    @unittest.skipUnless(can_load(REAL_REGISTER), f"{REAL_REGISTER} is not installed")
    @need(EXAMPLES / "train_loop", REGISTRAR, SDK)
    def test_beside_sdk_real(self):
        self.beside_sdk(REAL_REGISTER)


if __name__ == "__main__":
    unittest.main()
