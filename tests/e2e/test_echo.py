# SPDX-License-Identifier: MIT
"""Every function of HIP, called with random arguments: nothing on the way to the runtime changes a bit.

The runtime is a double that keeps the bytes of its arguments (tests/doubles/hip), generated from HIP's
headers; the program that calls it compares. What was recorded is compared with the program's own report.
"""
import collections
import ctypes.util
import json
import random
import re
import subprocess
import unittest

import harness
import record_column

HIP = harness.DOUBLES / "hip"
REGISTER_LIBRARY = harness.BUILD / "libwavetap_register.so"
REGISTER = HIP / "register.so"
MADE = harness.BUILD / "tests/doubles/hip/double.json"
SEED = int(harness.os.environ.get("WAVETAP_SEED", "0")) or random.randrange(1, 1 << 32)
ROUNDS, THREADS = 3, 2


def exported(path):
    """The functions that a library exports."""
    text = subprocess.run(["readelf", "-W", "--dyn-syms", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return {fields[7].split("@")[0] for fields in map(str.split, text.splitlines())
            if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] != "UND"}


@harness.need(HIP / "caller_linked", MADE)
class Echo(harness.Case):
    def setUp(self):
        super().setUp()
        self.made = json.loads(MADE.read_text())
        self.wrapped = exported(harness.LIBRARY)

    def command(self, way, seed=SEED, rounds=ROUNDS):
        program = HIP / ("caller_linked" if way == "linked" else "caller_found")
        self.report = self.path("report")
        return [program, way, seed, rounds, THREADS, self.report]

    def assert_equal_bits(self, result):
        self.assertEqual(0, result.code, f"seed {SEED}: {result}")
        said = re.search(r"^(\d+) calls of (\d+) functions, 0 wrong$", result.stdout, re.M)
        self.assertTrue(said, result)
        self.assertEqual(len(self.made["functions"]), int(said.group(2)))
        self.assertGreaterEqual(int(said.group(1)), len(self.made["functions"]) * ROUNDS * THREADS)

    def called(self, symbols):
        """What each thread called of them, in order: name, return code and arguments."""
        out = collections.defaultdict(list)
        for line in self.report.read_text().splitlines():
            tid, symbol, ret, *arguments = line.split(" ")
            if symbol in symbols:
                name = self.made["functions"][symbol]["name"]
                out[int(tid)].append((name, None if ret == "-" else int(ret), arguments))
        return out

    @staticmethod
    def recorded(trace):
        """Likewise: name, return code, id."""
        out = collections.defaultdict(list)
        for tid, name, ret, id_ in trace.rows(
                "SELECT t.tid, s.string, a.ret, a.id FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
                " JOIN wt_thread t ON t.id = c.thread_id JOIN wt_string s ON s.id = c.name_id"
                " ORDER BY a.start, a.id"):
            out[tid].append((name, ret, id_))
        return out

    def assert_recorded(self, trace, symbols):
        """All that was called of these, and nothing else."""
        self.assert_nothing_lost(trace)
        called, recorded = self.called(symbols), self.recorded(trace)
        self.assertEqual(set(called), set(recorded))
        self.assertEqual(bool(symbols), len(called) >= THREADS)
        arguments = record_column.Arguments(trace)
        for tid, calls in called.items():
            missing = collections.Counter(name for name, *_ in calls)
            missing.subtract(collections.Counter(name for name, *_ in recorded[tid]))
            self.assertFalse({name: n for name, n in missing.items() if n},
                             "calls that were made and not recorded (or the other way round: < 0)")
            for at, (call, record) in enumerate(zip(calls, recorded[tid])):
                self.assertEqual(call[:2], record[:2], f"call {at} of thread {tid}")
                arguments.compare(call, record[2])
        self.assertFalse(arguments.problems, f"seed {SEED}:\n" + "\n".join(arguments.problems[:20]))
        if symbols:
            self.assertGreater(arguments.compared, 2 * arguments.not_compared)

    def traced_calls(self, way, symbols, options=("--hip", "all"), env=None):
        self.count += 1
        db = self.path(f"trace{self.count}.db")
        result = self.run_command([harness.WAVETAP, "trace", "-o", db, *options, "--",
                                   *self.command(way)], env)
        self.assert_equal_bits(result)
        self.assert_recorded(self.trace(db), symbols)

    def through_table(self, members=None):
        """The symbols whose calls pass a member of a table."""
        names = set()
        for table in self.made["tables"].values():
            names.update(table[:members] if table is self.made["tables"]["hip"] else table)
        return {symbol for symbol, f in self.made["functions"].items()
                if f["name"] in names and f["name"] in self.wrapped}

    def test_untraced(self):
        for way in ("linked", "dlsym", "dlvsym", "table"):
            self.assert_equal_bits(self.run_command(self.command(way)))
        if "hipGetProcAddress" in self.made["functions"]:
            self.assert_equal_bits(self.run_command(self.command("proc")))

    def test_notices(self):
        """A tracer that disturbs is found out."""
        result = self.run_command(self.command("linked", 1, 30),
                                  {"LD_PRELOAD": HIP / "wrong_tracer.so"})
        self.assertEqual(1, result.code, result)
        for name, what in (("hipMemcpy", "argument 0 was"), ("hipMemset", "argument 2 was"),
                           ("hipFree", "returned"), ("hipSetDevice", "errno was"),
                           ("hipDeviceSynchronize", "the runtime was called 2 times"),
                           ("hipDeviceSynchronize", "the last error was"),
                           ("hipStreamQuery", "the runtime was called 0 times")):
            self.assertRegex(result.stdout, rf"(?m)^{name} \(linked\): {what}", str(result))
        self.assertIn("memory of the program was written", result.stdout)

    def test_linked(self):
        """Symbol interposition."""
        self.traced_calls("linked", self.wrapped)

    def test_linked_not_recording(self):
        self.assert_equal_bits(self.run_command(self.command("linked"), {"LD_PRELOAD": harness.LIBRARY}))

    def test_linked_hip_off(self):
        self.traced_calls("linked", set(), ("--hip", "off"))


    def looked_up(self):
        """The symbols that are exchanged for wrappers. Of a function that has a C++ name as well, which
        is another function of the library, the one that its wrapper calls."""
        return {symbol for symbol in self.wrapped
                if not symbol.startswith("_Z") or symbol not in self.made["functions"] or
                self.made["functions"][symbol]["name"] not in self.made["functions"]}

    def test_dlsym(self):
        self.traced_calls("dlsym", self.looked_up())

    def test_dlvsym(self):
        self.traced_calls("dlvsym", self.looked_up())

    def test_dlsym_not_recording(self):
        self.assert_equal_bits(self.run_command(self.command("dlsym"), {"LD_PRELOAD": harness.LIBRARY}))

    def test_proc(self):
        """hipGetProcAddress, of a runtime that knows its addresses and of one that asks dlsym."""
        if "hipGetProcAddress" not in self.made["functions"]:
            self.skipTest("this HIP has no hipGetProcAddress")
        self.traced_calls("proc", self.looked_up())
        self.traced_calls("proc", self.looked_up(), env={"HIP_DOUBLE_RESOLVE": "dlsym"})

    def need_table(self):
        if "hip" not in self.made["tables"]:
            self.skipTest("this HIP has no dispatch table")

    def test_table(self):
        """The dispatch table, from a double of the library that hands it out."""
        self.need_table()
        self.traced_calls("table", self.through_table(), env={"HIP_DOUBLE_REGISTER": REGISTER})

    def test_table_shorter(self):
        """Of an older runtime: what lies behind its end is not ours."""
        self.need_table()
        self.traced_calls("table", self.through_table(300),
                          env={"HIP_DOUBLE_REGISTER": REGISTER, "HIP_DOUBLE_MEMBERS": 300})

    def test_table_and_symbols(self):
        """Both ways lead to a call, and it is recorded once."""
        self.need_table()
        self.traced_calls("linked", self.wrapped, env={"HIP_DOUBLE_REGISTER": REGISTER})

    def test_table_real(self):
        """From the real librocprofiler-register."""
        self.need_table()
        if not ctypes.util.find_library("rocprofiler-register"):
            self.skipTest("librocprofiler-register is not installed")
        self.traced_calls("table", self.through_table(),
                          env={"HIP_DOUBLE_REGISTER": "librocprofiler-register.so.0"})

    def test_table_not_recording(self):
        self.need_table()
        self.assert_equal_bits(self.run_command(self.command("table"), {
            "LD_PRELOAD": f"{harness.LIBRARY}:{REGISTER_LIBRARY}", "HIP_DOUBLE_REGISTER": REGISTER}))


if __name__ == "__main__":
    unittest.main()
