# SPDX-License-Identifier: MIT
"""What an end and words mean, with the words as the programs print them."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import suites
import verdict

HEAD = "[==========] Running 2 tests from 1 test suite.\n"
FAILED = HEAD + """\
test.cc:7: Failure
Expected equality of these values:
[  PASSED  ] 1 test.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.B
"""


class Verdict(unittest.TestCase):
    def gtest(self, code, text, crashed="$^"):
        return verdict.of_gtest(code, text, suites.REFUSED, crashed)

    def test_gtest(self):
        self.assertEqual("passed", self.gtest(0, HEAD + "[  PASSED  ] 2 tests.\n"))
        self.assertEqual("result", self.gtest(1, FAILED))
        self.assertEqual("refused", self.gtest(1, "hipErrorNoDevice\n" + FAILED))
        self.assertEqual("skipped", self.gtest(
            0, HEAD + "[  PASSED  ] 0 tests.\n[  SKIPPED ] 2 tests, listed below:\n"))
        self.assertEqual("hang", self.gtest(None, HEAD))
        self.assertEqual("crash", self.gtest(-11, HEAD + "[  PASSED  ] 2 tests.\n"))
        self.assertEqual("crash", self.gtest(1, "pipe closed\n" + FAILED, "pipe closed"))

    def test_gtest_without_verdict(self):
        # a test that calls exit(0) has not passed; one that ends by itself after a failure has failed
        self.assertEqual("cut", self.gtest(0, HEAD))
        self.assertEqual("cut", self.gtest(1, HEAD))
        self.assertEqual("result", self.gtest(1, HEAD + "test.cc:7: Failure\n"))
        self.assertEqual("cut", self.gtest(0, HEAD + "test.cc:7: Failure\n"))
        # no test fitted the filter
        self.assertNotEqual("passed", self.gtest(0, HEAD + "[  PASSED  ] 0 tests.\n"))
        self.assertNotEqual("passed", self.gtest(1, HEAD + "[  PASSED  ] 2 tests.\n"))

    def test_command(self):
        def of(code, text, codes=(0,)):
            return verdict.of_command(code, text, r"all \d good", suites.REFUSED, codes)
        self.assertEqual("passed", of(0, "all 2 good"))
        self.assertEqual("cut", of(0, "nothing"))
        self.assertEqual("result", of(1, "all 2 good"))
        self.assertEqual("passed", of(2, "all 2 good", (0, 2)))
        self.assertEqual("refused", of(1, "rsmi_init failed"))
        self.assertEqual("hang", of(None, "all 2 good"))
        self.assertEqual("crash", of(-6, "all 2 good"))

    def expected(self, text, generation="6.4.3"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "suite.txt"
            path.write_text(text)
            return verdict.Expected(path, generation)

    def test_expected(self):
        e = self.expected("# why\nA.Special crash it is\nA.* result because of this\n7.2.4:B.* hang x\n")
        self.assertEqual(("crash", "it is"), e.of("A.Special"))
        self.assertEqual(("result", "because of this"), e.of("A.Other"))
        self.assertEqual(("passed", ""), e.of("B.One"))
        self.assertEqual([], e.unused())
        other = self.expected("7.2.4:B.* hang x\nC result y\n", "7.2.4")
        self.assertEqual(("hang", "x"), other.of("B.One"))
        self.assertEqual(1, len(other.unused()))
        self.assertIn("C", other.unused()[0])

    def test_check(self):
        e = self.expected("A result because\nB passed|crash chance\n")
        self.assertEqual(("because", ""), e.check("A", "result"))
        self.assertEqual(("", "A: hang, expected result"), e.check("A", "hang"))
        self.assertEqual(("chance", ""), e.check("B", "crash"))
        self.assertEqual(("", ""), e.check("C", "passed"))
        self.assertEqual("C: crash, expected passed", e.check("C", "crash")[1])

    def test_matrix_weighs_again(self):
        """The reasons are those of today's files, not of the run."""
        with tempfile.TemporaryDirectory() as folder:
            tests = [{"test": f"test.{op}", "class": c, "counts": None, "reason": "of the run"}
                     for op, c in (("ADD", "result"), ("CPY", "crash"))]
            (pathlib.Path(folder) / "llama.json").write_text(json.dumps(
                {"suite": "llama", "generation": "6.4.3", "versions": {}, "tests": tests, "left_out": {},
                 "part": {"test.GET": ["A.*", "too many"]}, "surprises": 0}))
            out = subprocess.run([sys.executable, "-B", "matrix", folder], check=True, capture_output=True,
                                 text=True, cwd=pathlib.Path(__file__).resolve().parent).stdout
        self.assertIn("1 result, 1 crash, **1 not as expected**", out)
        self.assertNotIn("of the run", out)
        self.assertIn("| in part | too many: `--gtest_filter=A.*` | `test.GET` |", out)
        self.assertIn("| crash | **not expected** | `test.CPY` |", out)
        self.assertRegex(out, r"\| result \| \w.*`test.ADD` \|")

    def test_renewed(self):
        """One test run again takes the place of its earlier result, and of nothing else."""
        loader = importlib.machinery.SourceFileLoader("run", str(pathlib.Path(__file__).resolve().parent / "run"))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
        loader.exec_module(run)
        again = {"versions": {"p": "1"}, "tests": [{"test": "B", "class": "passed"}]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "suite.json"
            with self.assertRaises(run.Problem):
                run.renewed(path, again)
            earlier = [{"test": "A", "class": "result"}, {"test": "B", "class": "crash"}]
            path.write_text(json.dumps({"versions": {"p": "1"}, "tests": earlier}))
            self.assertEqual([earlier[0], again["tests"][0]], run.renewed(path, again))
            with self.assertRaises(run.Problem):
                run.renewed(path, {**again, "versions": {"p": "2"}})

    def test_expected_is_checked(self):
        for wrong in ("A.* result", "A.* broken because", "A"):
            with self.assertRaises(ValueError):
                self.expected(wrong + "\n")

    def test_files(self):
        """Every expected file is of a suite, well-formed, and gives reasons."""
        names = {suite.expected or suite.name for suite in suites.SUITES}
        for path in (pathlib.Path(__file__).parent / "expected").iterdir():
            self.assertIn(path.stem, names)
            for generation in {g for s in suites.SUITES for g in s.where if (s.expected or s.name) == path.stem}:
                verdict.Expected(path, generation)

    def test_parts(self):
        """A part of a program is of one that can be a suite's, and says why."""
        for suite in suites.SUITES:
            self.assertTrue(not suite.part or suite.kind in (suites.EACH, suites.PROGRAMS), suite.name)
            for program, (some, why) in suite.part.items():
                self.assertRegex(program, suite.program or suite.pattern)
                self.assertTrue(some and why)

    def test_suites(self):
        for generation in ("5.2.3", "6.4.3", "7.2.4"):
            names = [suite.name for suite in suites.of(generation)]
            self.assertEqual(len(set(names)), len(names))
            self.assertIn("tools", names)
        self.assertEqual(["rccl-2"], [s.name for s in suites.of("7.2.4", ["rccl-2"])])
        self.assertEqual([], suites.of("6.4.3", ["rccl-2"]))


if __name__ == "__main__":
    unittest.main()
