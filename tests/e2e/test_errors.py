# SPDX-License-Identifier: MIT
"""What goes wrong is said in one clear line with a hint; codes 125, 126 and 127."""
import os
import pathlib
import unittest

from harness import EXAMPLES, WAVETAP, Case, need
from test_memory import may_unshare


class Errors(Case):
    def lines(self, result):
        """wavetap's own lines, without hints."""
        return [line for line in result.stderr.splitlines() if line.startswith("wavetap:")]

    def assert_refused(self, result, code, *words, hint=True):
        self.assertEqual(result.code, code, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(self.lines(result)), 1, result)
        for word in words:
            self.assertIn(word, self.lines(result)[0])
        if hint:
            self.assertEqual(result.stderr.count("hint:"), 1, result)

    def trace_command(self, *command, options=()):
        return [WAVETAP, "trace", *options, "--", *command]

    def test_missing_command(self):
        result = self.run_command(self.trace_command("no-such-program", options=("-o", "t.db")))
        self.assert_refused(result, 127, "no-such-program")
        self.assertFalse(self.path("t.db").exists())

    def test_not_executable(self):
        self.path("text").write_text("no program")
        result = self.run_command(self.trace_command("./text", options=("-o", "t.db")))
        self.assert_refused(result, 126, "text")
        self.assertFalse(self.path("t.db").exists())

    def test_no_command(self):
        result = self.run_command([WAVETAP, "trace"])
        self.assert_refused(result, 125)

    def test_wrong_option(self):
        result = self.run_command([WAVETAP, "trace", "--no-such-option", "--", "true"])
        self.assert_refused(result, 125, "no-such-option")

    def test_unwritable_output(self):
        for path in ("/proc/t.db", "/nonexistent/folder/t.db", str(self.dir)):
            with self.subTest(path):
                result = self.run_command(self.trace_command("true", options=("-o", path)))
                self.assert_refused(result, 125, str(pathlib.Path(path).parent))

    def test_existing_output(self):
        self.path("t.db").write_text("mine")
        result = self.run_command(self.trace_command("true", options=("-o", "t.db")))
        self.assert_refused(result, 125, "t.db")
        self.assertEqual(self.path("t.db").read_text(), "mine")

    def test_no_gpu(self):
        """A machine without a GPU: the program decides what that means."""
        program = [EXAMPLES / "pipeline"]
        if not program[0].exists() or os.path.exists("/dev/kfd"):
            self.skipTest("needs the example and no GPU")
        plain = self.run_command(program)
        traced = self.run_command(self.trace_command(*program, options=("-o", "t.db")))
        self.assertEqual(plain.code, traced.code)
        self.assertEqual(plain.stdout, traced.stdout)
        self.assertEqual(len(self.lines(traced)), 1, traced)
        self.assertEqual(traced.stderr.count("hint:"), 1, traced)
        self.assertIn("GPU", self.lines(traced)[0])

    def test_doctor(self):
        """It finds the GPUs that programs find."""
        result = self.run_command(self.vgpu([WAVETAP, "doctor"], gpus=2))
        self.assertEqual(result.code, 0)
        self.assertRegex(result.stdout, r"ok +GPUs +2: gfx\w+, gfx\w+")
        self.assertRegex(result.stdout, r"ok +render nodes +2,")

    def test_no_rocm(self):
        """A program that never loads ROCm."""
        result = self.run_command(self.trace_command("true", options=("-o", "t.db")))
        self.assertEqual(result.code, 0, result)
        self.assertEqual(len(self.lines(result)), 1, result)

    def test_not_a_trace(self):
        self.path("t.db").write_bytes(b"no trace" * 1000)
        for command in ("summary", "info"):
            for path in ("t.db", "absent.db"):
                with self.subTest(command=command, path=path):
                    result = self.run_command([WAVETAP, command, path])
                    self.assert_refused(result, 1, path)

    def test_wrong_usage(self):
        for command in (["no-such-command"], ["summary"], ["summary", "a", "b"],
                        ["summary", "--by", "colour", "t.db"], []):
            with self.subTest(command):
                result = self.run_command([WAVETAP, *command])
                self.assertEqual(result.code, 2, result)

    @need(EXAMPLES / "train_loop")
    @unittest.skipUnless(may_unshare(), "needs root and unshare -m")
    def test_full_disk(self):
        """The output's file system is full: one line; the program does not notice."""
        program = [EXAMPLES / "train_loop", 200]
        plain, _ = self.untraced(program)
        disk = self.path("disk")
        disk.mkdir()
        traced = self.run_command(self.vgpu(
            ["unshare", "-m", "sh", "-c",
             f"mount -t tmpfs -o size=128k tmpfs {disk} && exec \"$@\"", "sh",
             WAVETAP, "trace", "-o", disk / "t.db", "--", *program]), limit=180)
        self.assert_undisturbed(plain, traced)
        self.assertEqual(len(self.lines(traced)), 1, traced)
        self.assertIn("space", self.lines(traced)[0])


if __name__ == "__main__":
    unittest.main()
