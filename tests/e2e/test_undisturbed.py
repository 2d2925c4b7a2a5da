# SPDX-License-Identifier: MIT
"""Nothing changes for the program: exit code, output, copied data, error state, capture state."""
import signal
import unittest

from harness import WAVETAP, WORKLOADS, Case, need


class Undisturbed(Case):
    @need(WORKLOADS / "last_error")
    def test_last_error(self):
        """Return codes, hipGetLastError, hipPeekAtLastError, capture status, errno."""
        program = [WORKLOADS / "last_error"]
        plain, _ = self.untraced(program)
        self.assertEqual(plain.code, 0, plain)
        self.assertIn("capturing: active", plain.stdout)
        for options in ((), ("--hip", "all"), ("--hip", "off"), ("--depth", "lite")):
            with self.subTest(options=options):
                traced, log, trace = self.traced(program, options)
                self.assert_undisturbed(plain, traced)
                untimed = {"time.depth"} if "--depth" in options else ()
                self.assert_same(log, trace, untimed=untimed)

    @need(WORKLOADS / "copies")
    def test_copies(self):
        """The data, and each copy and fill in the trace."""
        program = [WORKLOADS / "copies", 2]
        plain, _ = self.untraced(program)
        self.assertEqual(plain.code, 0, plain)
        traced, log, trace = self.traced(program)
        self.assert_undisturbed(plain, traced, stderr=True)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)

    @need(WORKLOADS / "crash")
    def test_ends(self):
        """Every way to end: the same code, and what was done is in the trace."""
        for how in ("segv", "abort", "kill", "_exit", "quick_exit", "exit-thread"):
            with self.subTest(how):
                program = [WORKLOADS / "crash", how]
                plain, _ = self.untraced(program)
                traced, log, trace = self.traced(program)
                self.assert_undisturbed(plain, traced)
                self.assert_same(log, trace, late_per_queue=1)
                # what was waited for is there with its times, however it ended
                done = sum(o.kernel == "_Z14before_the_endPi" and o.end is not None
                           for o in trace.operations)
                self.assertEqual(done, 500)

    def test_exit_codes(self):
        """Also of programs that never touch the GPU."""
        for script, code in (("exit 0", 0), ("exit 3", 3), ("exit 255", 255),
                             ("kill -TERM $$", -signal.SIGTERM), ("kill -KILL $$", -signal.SIGKILL)):
            with self.subTest(script):
                result = self.run_command([WAVETAP, "trace", "-f", "-o", self.path("t.db"), "--",
                                           "sh", "-c", script])
                self.assertEqual(result.code, code, result)

    def test_standard_streams(self):
        """stdin and stdout are the program's; its arguments arrive as they are."""
        result = self.run_command(["sh", "-c", f"echo in | {WAVETAP} trace -o {self.path('t.db')} "
                                   "-- sh -c 'cat; printf \"%s|\" \"$@\"' - 'a b' '' --help -o x"])
        self.assertEqual(result.stdout, "in\na b||--help|-o|x|", result)


if __name__ == "__main__":
    unittest.main()
