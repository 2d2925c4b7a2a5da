# SPDX-License-Identifier: MIT
"""Runs programs on the virtual GPU, traced and untraced. Used by every test of this folder.

The build folder comes from WAVETAP_BUILD. WAVETAP_KEEP=1 keeps the files of each test.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import oracle

BUILD = pathlib.Path(os.environ.get("WAVETAP_BUILD", "build")).resolve()
WAVETAP = BUILD / "wavetap"
LIBRARY = BUILD / "libwavetap.so"
VGPU_RUN = BUILD / "vgpu-run"
EXAMPLES = BUILD / "examples"
WORKLOADS = BUILD / "workloads"
DOUBLES = BUILD / "doubles"
CODE_OBJECT = WORKLOADS / "module_kernel.co"
# The machine may be slow and shared: a limit only ends what hangs.
LIMIT_S = float(os.environ.get("WAVETAP_LIMIT_S", "600"))
NOISE = ("LD_PRELOAD", "HSA_TOOLS_LIB", "ASAN_OPTIONS")


class Result:
    """An ended program."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def __str__(self):
        return f"exit code {self.code}\nstdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-2000:]}"


def stacks(session):
    """Where the threads of a session's processes are, if there is a debugger. The virtual GPU's own
    threads wait for packets and say nothing."""
    if not shutil.which("gdb"):
        return "no stacks: gdb is not installed"
    out = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            if os.getsid(int(process.name)) != session:
                continue
            text = subprocess.run(["gdb", "-p", process.name, "-batch", "-ex",
                                   "thread apply all backtrace 16"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60, check=False).stdout
            threads = [part for part in text.split("\n\n") if part.startswith("Thread")
                       and "vg_queue__main" not in part]
            out.append(f"process {process.name}:\n" + "\n".join(threads))
    return "\n".join(out)


class Hangs(AssertionError):
    """A program that had not ended at its limit, and was killed."""


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def setUp(self):
        for need in (WAVETAP, LIBRARY, VGPU_RUN):
            self.assertTrue(need.exists(), f"{need} was not built")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wavetap-test-"))
        self.count = 0

    def tearDown(self):
        self.assert_no_sanitizer_report()
        for session in pathlib.Path("/dev/shm").glob("wavetap-*"):
            # of a collector that did not reach its end
            with contextlib.suppress(OSError):
                if os.readlink(session / "segment").startswith(f"{self.dir}/"):
                    shutil.rmtree(session, ignore_errors=True)
        if not os.environ.get("WAVETAP_KEEP"):
            shutil.rmtree(self.dir, ignore_errors=True)
        else:
            print(f"{self.id()}: {self.dir}")

    # ---- running ----

    def path(self, name):
        return self.dir / name

    def environment(self, extra=None):
        env = {k: v for k, v in os.environ.items()
               if k not in NOISE and not k.startswith(("WAVETAP_", "VGPU_", "HSA_", "RTL_"))}
        # wavetap's own program has sanitizers in the development build; the virtual GPU is
        # preloaded before their runtime
        env["ASAN_OPTIONS"] = f"verify_asan_link_order=0:log_path={self.dir}/asan"
        env["UBSAN_OPTIONS"] = f"print_stacktrace=1:log_path={self.dir}/ubsan"
        env["TMPDIR"] = str(self.dir)
        env.update(extra or {})
        return {k: str(v) for k, v in env.items()}

    def assert_no_sanitizer_report(self):
        reports = sorted(self.dir.glob("asan.*")) + sorted(self.dir.glob("ubsan.*"))
        texts = [report.read_text(errors="replace")[:3000] for report in reports]
        self.assertFalse(texts, "sanitizer report:\n" + "\n".join(texts))

    def run_command(self, command, env=None, cwd=None, limit=None):
        """Runs to the end. A program that a signal ended has a negative code."""
        out, err = self.path("stdout"), self.path("stderr")
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen([str(part) for part in command], stdout=stdout,
                                       stderr=stderr, stdin=subprocess.DEVNULL,
                                       env=self.environment(env), cwd=cwd or self.dir,
                                       start_new_session=True)
            try:
                code = process.wait(timeout=limit or LIMIT_S)
            except subprocess.TimeoutExpired:
                where = stacks(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Hangs(f"hangs: {command}\n{err.read_text(errors='replace')[-2000:]}\n{where}")
        return Result(code, out.read_text(errors="replace"), err.read_text(errors="replace"))

    @staticmethod
    def vgpu(command, log=None, gpus=1, kernel_ns=None):
        """`command` on the virtual GPU."""
        out = [VGPU_RUN, "--gpus", gpus]
        if kernel_ns is not None:
            out += ["--kernel-ns", kernel_ns]
        if log is not None:
            out += ["--log", log]
        return out + ["--"] + list(command)

    def untraced(self, command, gpus=1, kernel_ns=None, env=None, limit=None):
        """Result and log."""
        self.count += 1
        log = self.path(f"untraced{self.count}.jsonl")
        result = self.run_command(self.vgpu(command, log, gpus, kernel_ns), env, limit=limit)
        return result, oracle.Log(log)

    def traced(self, command, options=(), gpus=1, kernel_ns=None, env=None, load=True,
               limit=None):
        """Result, log and trace."""
        self.count += 1
        log, db = self.path(f"traced{self.count}.jsonl"), self.path(f"traced{self.count}.db")
        result = self.run_command(
            self.vgpu([WAVETAP, "trace", "-o", db, *options, "--", *command], log, gpus,
                      kernel_ns), env, limit=limit)
        if not load:
            return result, log, db
        self.assertTrue(db.exists(), f"no trace was written\n{result}")
        return result, oracle.Log(log), self.trace(db)

    def trace(self, path):
        trace = oracle.Trace(path)
        self.addCleanup(trace.close)
        return trace

    # ---- comparing ----

    def assert_same(self, log, trace, **allowed):
        """The trace says what happened."""
        self.assertTrue(log.operations(), "the program did nothing on the GPU")
        problems = oracle.compare(log, trace, **allowed)
        problems += oracle.correlation_problems(trace)
        self.assertFalse(problems, oracle.brief(problems) + f"\nlost: {trace.lost()}"
                         f"\nstatus: {trace.rows('SELECT * FROM wt_status')}")

    def assert_nothing_lost(self, trace, but=()):
        lost = {cause: n for cause, n in trace.lost().items() if n and cause not in but}
        self.assertFalse(lost)

    def assert_undisturbed(self, plain, traced, stderr=False):
        """Exit code and output are the program's own."""
        self.assertEqual(plain.code, traced.code, f"untraced: {plain}\ntraced: {traced}")
        self.assertEqual(plain.stdout, traced.stdout)
        if stderr:
            self.assertEqual(plain.stderr, traced.stderr)

    def wait_for(self, what, condition, limit=60):
        """Polls; only a hang makes it fail."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                self.fail(f"waited {limit} s for {what}")
            time.sleep(0.02)


def need(*paths):
    """Skips a test whose programs could not be built (no hipcc)."""
    absent = [str(path) for path in paths if not pathlib.Path(path).exists()]
    return unittest.skipIf(absent, f"not built: {' '.join(absent)}")
