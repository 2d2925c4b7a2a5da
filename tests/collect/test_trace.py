# SPDX-License-Identifier: MIT
"""wavetap trace, collect and recover as commands, with a producer that needs no GPU."""
import os
import pathlib
import pty
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ["WAVETAP_BUILD"]).resolve()
WAVETAP, PRODUCER = BUILD / "wavetap", pathlib.Path(os.environ["FAKE_PRODUCER"]).resolve()
LIBRARY = BUILD / "libwavetap.so"

# a producer that goes on when the shell ends; its pid is printed when its events are made
OUTLIVES = f"{{ {PRODUCER} -n 100 -x hang & }} | {{ read pid; echo $pid; }}"


class Trace(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wavetap-trace-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("WAVETAP_", "RTL_", "SLURM_", "OMPI_", "PMI"))
                and k not in ("LD_PRELOAD", "HSA_TOOLS_LIB", "RANK")}
        keep["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        keep["TMPDIR"] = str(self.dir)
        self.env = keep

    def start(self, *args, env=None, **kwargs):
        return subprocess.Popen([str(a) for a in args], cwd=self.dir, env={**self.env, **(env or {})},
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def run_it(self, *args, **kwargs):
        process = self.start(*args, **kwargs)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def trace(self, *args, options=("-o", "t.db"), **kwargs):
        return self.run_it(WAVETAP, "trace", "--session-dir", self.dir, *options, "--", *args,
                           **kwargs)

    def count(self, sql, name="t.db"):
        with sqlite3.connect(f"file:{self.dir / name}?mode=ro", uri=True) as db:
            return db.execute(sql).fetchone()[0]

    def assert_counts(self, calls, name="t.db"):
        for table, cause in (("wt_api", "call.%"), ("wt_op", "operation.%")):
            lost = self.count(f"SELECT ifnull(sum(count), 0) FROM wt_lost WHERE cause LIKE '{cause}'",
                              name)
            self.assertEqual(self.count(f"SELECT count(*) FROM {table}", name) + lost, calls)

    def assert_clean(self, *but):
        left = sorted(p.name for p in self.dir.iterdir() if p.name not in but)
        self.assertEqual(left, [])

    def test_counts_and_code(self):
        code, out, err = self.trace(PRODUCER, "-t", 3, "-n", 2000, "-c", 42)
        self.assertEqual((code, out, err), (42, "", ""))
        self.assert_counts(6000)
        self.assert_clean("t.db")

    def test_quiet_in_a_pipe(self):
        """Not even a summary, but what a trace holds of the run."""
        self.trace(PRODUCER, "-n", 10)
        self.assertEqual(self.count("SELECT value FROM wt_meta WHERE key = 'command'"),
                         f"{PRODUCER} -n 10")
        self.assertEqual(self.count("SELECT exit_kind FROM wt_process"), 1)

    def test_ends_by_the_same_signal(self):
        code, _, _ = self.trace(PRODUCER, "-n", 500, "-x", "kill")
        self.assertEqual(code, -signal.SIGKILL)
        self.assert_counts(500)
        self.assertEqual(self.count("SELECT exit_kind FROM wt_process"), 2)

    def test_exec(self):
        code, _, _ = self.trace(PRODUCER, "-n", 200, "-x", "exec")
        self.assertEqual(code, 0)
        self.assertEqual(self.count("SELECT count(*) FROM wt_process"), 2)
        self.assert_counts(210)

    def wait_joined(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for path in self.dir.glob("wavetap-*/r0-0"):
                return path.parent
            time.sleep(0.01)
        self.fail("the producer did not join")
        return None

    def test_signals_reach_the_program(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(number):
                process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-f", "-o", "t.db",
                                     PRODUCER, "-n", 100, "-x", "hang")
                self.wait_joined()
                time.sleep(0.1)
                process.send_signal(number)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, -number)
                self.assert_counts(100)

    def test_environment(self):
        """Ours first, the others stay; twice the same makes no second entry. What takes the
        tables of rocprofiler-register lies beside the library and is preloaded with it."""
        show = ("sh", "-c", "echo $LD_PRELOAD; echo $HSA_TOOLS_LIB; echo $WAVETAP_SESSION")
        _, out, _ = self.trace(*show, env={"HSA_TOOLS_LIB": "libother.so second.so"})
        preload, tools, session = out.splitlines()
        self.assertEqual(preload, f"{LIBRARY}:{LIBRARY.with_name('libwavetap_register.so')}")
        self.assertEqual(tools, f"{LIBRARY} libother.so second.so")
        self.assertTrue(session.startswith(str(self.dir)))
        _, out, _ = self.trace(*show, options=("-f", "-o", "t.db"),
                               env={"HSA_TOOLS_LIB": f"a.so {LIBRARY}"})
        self.assertEqual(out.splitlines()[1], f"a.so {LIBRARY}")

    def test_preloads_in_both_orders(self):
        """Another preloaded library keeps working, whoever is first."""
        source = self.dir / "other.c"
        source.write_text("int getpagesize(void) { return 4242; }\n")
        other = self.dir / "other.so"
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", other], check=True)
        ask = ("python3", "-c", "import ctypes; print(ctypes.CDLL(None).getpagesize())")
        for value in (f"{other}", f"{LIBRARY}:{other}", f"{other}:{LIBRARY}"):
            with self.subTest(value):
                code, out, _ = self.trace("env", f"LD_PRELOAD={value}", *ask,
                                          options=("-f", "-o", "t.db"))
                self.assertEqual((code, out), (0, "4242\n"))

    def test_refused_before_the_start(self):
        mark = self.dir / "started"
        run = ("touch", mark)
        (self.dir / "old.db").write_text("mine")
        for options, words in ((("-o", "old.db"), ("--append",)),
                               (("-o", "no/where.db"), ("-d",)),
                               (("-o", "%z.db"), ("%z",)),
                               (("--lossless",), ("not yet",)),
                               (("--ranks", "0"), ("not yet", "--ranks")),
                               (("-t", "kernel,colour"), ("colour",)),
                               (("-t", "mem"), ("hip",)),
                               (("-t", "roctx"), ("not yet", "roctx")),
                               (("-t", ","), ("nothing", "hint: -t")),
                               (("--mode", "wild"), ("wild",)),
                               (("--mode", "graph"), ("not yet", "--graph graph")),
                               (("--graph", "graph"), ("not yet", "--graph graph")),
                               (("--graph", "off"), ("not yet", "--graph off")),
                               (("--source", "sdk"), ("not yet", "--source sdk")),
                               (("--source", "hip"), ("not yet", "--source hip")),
                               (("--buffer", "1M"), ("--buffer", "hint: --buffer 8M")),
                               (("--buffer", "0"), ("--buffer",)),
                               (("--hip", "some"), ("--hip",)),
                               (("-f", "--append", "-o", "x.db"), ("--append",)),
                               (("--session-dir", "/nonexistent", "-o", "x.db"), ("/nonexistent",))):
            with self.subTest(options):
                code, out, err = self.run_it(WAVETAP, "trace", *options, *run)
                self.assertEqual((code, out), (125, ""), err)
                self.assertEqual(err.count("wavetap: "), 1, err)
                for word in words:
                    self.assertIn(word, err)
                self.assertFalse(mark.exists())
        self.assertEqual((self.dir / "old.db").read_text(), "mine")
        self.assert_clean("old.db")

    def test_append_to_what_it_is_not(self):
        """Refused before the start: at the end it would be too late."""
        mark = self.dir / "started"
        (self.dir / "text.db").write_text("mine, and no trace")
        self.trace(PRODUCER, "-n", 1, options=("-o", "wavetap.db"))
        self.trace(PRODUCER, "-n", 1, options=("--schema", "rpd", "-o", "rpd.db"))
        for options, word in ((("-o", "text.db"), "not a trace"), (("-o", "rpd.db"), "--schema rpd"),
                              (("--schema", "rpd", "-o", "wavetap.db"), "leave out --schema rpd")):
            with self.subTest(options):
                code, _, err = self.trace("touch", mark, options=("--append", *options))
                self.assertEqual((code, err.count("wavetap: "), err.count("hint: ")), (125, 1, 1), err)
                self.assertIn(word, err)
                self.assertFalse(mark.exists())
        # any database may get RPD's tables
        with sqlite3.connect(self.dir / "other.db") as db:
            db.execute("CREATE TABLE mine(a)")
        db.close()
        self.trace(PRODUCER, "-n", 7, options=("--append", "--schema", "rpd", "-o", "other.db"))
        self.assertEqual(self.count("SELECT count(*) FROM rocpd_op", "other.db"), 7)
        self.assert_clean("text.db", "wavetap.db", "rpd.db", "other.db")

    def test_no_follow(self):
        """Says that children are left alone, where nothing else was there."""
        _, _, err = self.trace("true", options=("--follow", "no", "-o", "t.db"))
        self.assertIn("hint: --follow no", err)

    def test_relative_session_dir(self):
        (self.dir / "sessions").mkdir()
        code, out, err = self.trace(PRODUCER, "-n", 9, options=("--session-dir", "sessions", "-o", "t.db"))
        self.assertEqual((code, out, err), (0, "", ""))
        self.assert_counts(9)
        self.assertEqual(list((self.dir / "sessions").iterdir()), [])

    def test_refused_variables(self):
        """A variable means what its option means."""
        mark = self.dir / "started"
        for name, value, word in (("WAVETAP_LAST", "5s", "not yet"), ("WAVETAP_LOSSLESS", "1", "not yet"),
                                  ("WAVETAP_GRAPH", "graph", "not yet"), ("WAVETAP_SOURCE", "sdk", "not yet"),
                                  ("WAVETAP_BUFFER", "1M", "8M"), ("WAVETAP_DEPTH", "deep", "lite"),
                                  ("WAVETAP_MODE", "wild", "wild"), ("RTL_MODE", "wild", "RTL_MODE")):
            with self.subTest(name):
                code, _, err = self.run_it(WAVETAP, "trace", "-o", "t.db", "touch", mark, env={name: value})
                self.assertEqual((code, err.count("wavetap: "), err.count("hint: ")), (125, 1, 1), err)
                self.assertIn(word, err)
                self.assertFalse(mark.exists())
        code, _, err = self.trace("touch", mark, env={"WAVETAP_LOSSLESS": "0"}, options=("-q", "-o", "t.db"))
        self.assertEqual((code, err), (0, ""))

    def test_command_line_goes_first(self):
        """Whatever the environment says."""
        for env in ({"RTL_MODE": "lite"}, {"WAVETAP_MODE": "lite"}, {"WAVETAP_DEPTH": "lite"}):
            self.trace(PRODUCER, "-n", 1, options=("-f", "-o", "t.db", "--depth", "full"), env=env)
            self.assertIn("depth=0", self.count("SELECT value FROM wt_meta WHERE key = 'settings'"))
        self.trace(PRODUCER, "-n", 1, options=("-f", "-o", "t.db"),
                   env={"RTL_MODE": "lite", "WAVETAP_DEPTH": "standard"})
        self.assertIn("depth=1", self.count("SELECT value FROM wt_meta WHERE key = 'settings'"))

    def test_types(self):
        for types, kernels in (("kernel", 100), ("copy", 0), ("kernel,copy", 100)):
            self.trace(PRODUCER, "-n", 100, options=("-f", "-o", "t.db", "-t", types))
            self.assertEqual(self.count("SELECT count(*) FROM wt_op"), kernels, types)

    def test_process_without_memory(self):
        """A process that took its number and found no memory is counted."""
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             PRODUCER, "-n", 100, "-x", "hang")
        session = self.wait_joined()
        with open(session / "session", "r+b") as file:
            file.seek(128)
            file.write(struct.pack("=I", 3))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertIn("2 processes not recorded",
                      self.count("SELECT group_concat(text) FROM wt_status WHERE level <> 'info'"))

    def test_command_that_is_none(self):
        (self.dir / "text").write_text("no program")
        for command, want in (("./absent", 127), ("absent-program", 127), ("./text", 126), ("/", 126)):
            with self.subTest(command):
                code, _, err = self.trace(command)
                self.assertEqual(code, want)
                self.assertEqual((err.count("wavetap: "), err.count("hint: ")), (1, 1), err)
        (self.dir / "text").chmod(0o755)
        (self.dir / "text").write_text("#!/no/such/interpreter\n")
        code, _, err = self.trace("./text")
        self.assertEqual((code, err.count("wavetap: "), err.count("hint: ")), (127, 1, 1), err)
        self.assert_clean("text")

    def test_names(self):
        self.trace(PRODUCER, "-n", 1, options=("-d", "a/b", "-o", "%q{WHO}-r%r.db"),
                   env={"WHO": "me", "SLURM_PROCID": "3"})
        self.assertTrue((self.dir / "a/b/me-r3.db").exists())
        process = self.start(WAVETAP, "trace", "-o", "%p.db", "sh", "-c", "echo $$")
        out, _ = process.communicate(timeout=60)
        self.assertTrue((self.dir / f"{out.strip()}.db").exists())

    def test_append_and_force(self):
        self.trace(PRODUCER, "-n", 100)
        self.trace(PRODUCER, "-n", 50, options=("--append", "-o", "t.db"))
        self.assert_counts(150)
        self.trace(PRODUCER, "-n", 30, options=("-f", "-o", "t.db"))
        self.assert_counts(30)
        self.trace(PRODUCER, "-n", 20, options=(), env={"WAVETAP_OUTPUT": "env.db"})
        self.assert_counts(20, "env.db")
        self.trace(PRODUCER, "-n", 20, options=(), env={"RTL_OUTPUT": "rtl.db", "RTL_MODE": "lite"})
        self.assert_counts(20, "rtl.db")
        self.assertIn("depth=2", self.count("SELECT value FROM wt_meta WHERE key = 'settings'", "rtl.db"))

    def test_waits_for_the_tree(self):
        """A grandchild that outlives the command is in the trace; with --wait primary it is not waited for."""
        script = f"({OUTLIVES})"
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             "sh", "-c", script)
        child = int(process.stdout.readline())
        time.sleep(1)
        self.assertIsNone(process.poll())
        os.kill(child, signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assert_counts(100)
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-f", "-o", "t.db",
                             "--wait", "primary", "sh", "-c", script + " >&2")
        child = int(process.stderr.readline())
        self.assertEqual(process.wait(timeout=60), 0)
        os.kill(child, signal.SIGTERM)
        process.communicate()
        self.assert_counts(100)

    def test_ctrl_c_ends_the_waiting(self):
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             "sh", "-c", OUTLIVES)
        child = int(process.stdout.readline())
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 0)
        os.kill(child, signal.SIGTERM)
        process.communicate()
        self.assert_counts(100)

    @staticmethod
    def collector_of(session):
        return struct.unpack_from("=8sII", (session / "session").read_bytes())[2]

    def test_collector_killed(self):
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             PRODUCER, "-n", 30000, "-p", 50, "-c", 7)
        session = self.wait_joined()
        time.sleep(0.1)
        os.kill(self.collector_of(session), signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 7)
        self.assertEqual(err.count("wavetap: "), 1, err)
        self.assertIn(f"wavetap recover {session}", err)
        self.assertFalse((self.dir / "t.db").exists())
        code, out, err = self.run_it(WAVETAP, "recover", session)
        self.assertEqual(code, 0, err)
        self.assertIn("t.db", out)
        self.assert_counts(30000)
        self.assert_clean("t.db")
        code, _, err = self.run_it(WAVETAP, "recover", session)
        self.assertEqual(code, 1)
        self.assertIn(str(session), err)

    def on_terminal(self, *command):
        """What it prints there."""
        master, slave = pty.openpty()
        process = subprocess.Popen([str(part) for part in command], cwd=self.dir, env=self.env,
                                   stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        text = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            text += more
        os.close(master)
        self.assertEqual(process.wait(timeout=60), 0)
        return text.decode()

    def test_unfinished_is_named_once(self):
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             PRODUCER, "-n", 20000, "-p", 50)
        session = self.wait_joined()
        os.kill(self.collector_of(session), signal.SIGKILL)
        process.communicate(timeout=120)
        again = (WAVETAP, "trace", "--session-dir", self.dir, "-f", "-o", "other.db", PRODUCER, "-n", "10")
        # nobody reads it in a pipe; on a terminal it is said once
        self.assertEqual(self.run_it(*again)[2], "")
        text = self.on_terminal(*again)
        self.assertIn(f"{self.dir}/t.db was never finished", text)
        self.assertIn(f"wavetap recover {session}", text)
        self.assertNotIn("never finished", self.on_terminal(*again))
        process = subprocess.run([str(WAVETAP), "recover", str(session)], cwd="/", env=self.env, text=True,
                                 capture_output=True, check=True)
        self.assertIn(f"{self.dir}/t.db: ", process.stdout)
        self.assert_counts(20000)
        self.assert_clean("t.db", "other.db")

    def test_forgets_what_has_no_segment(self):
        """Without its segment file a session is of no use; after a day it goes away."""
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             PRODUCER, "-n", 100, "-x", "hang")
        session = self.wait_joined()
        os.kill(self.collector_of(session), signal.SIGKILL)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        (session / "segment").resolve().unlink()
        again = (WAVETAP, "trace", "--session-dir", self.dir, "-f", "-o", "other.db", PRODUCER, "-n", "10")
        self.assertNotIn("never finished", self.on_terminal(*again))
        self.assertTrue(session.exists())
        os.utime(session, (time.time() - 90000,) * 2)
        self.run_it(*again)
        self.assertFalse(session.exists())

    def test_trace_killed(self):
        """The collector goes on as for a program that was started by hand."""
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             PRODUCER, "-n", 3000, "-p", 50)
        session = self.wait_joined()
        process.kill()
        process.communicate()
        end = time.monotonic() + 60
        while session.exists() and time.monotonic() < end:
            time.sleep(0.02)
        self.assert_counts(3000)
        self.assert_clean("t.db")

    def test_nothing_recorded(self):
        code, out, err = self.trace("echo", "hello")
        self.assertEqual((code, out), (0, "hello\n"))
        self.assertEqual((err.count("wavetap: "), err.count("hint: ")), (1, 1), err)
        code, _, err = self.trace("true", options=("-q", "-f", "-o", "t.db"))
        self.assertEqual((code, err), (0, ""))
        if not os.path.exists("/dev/kfd"):
            code, _, err = self.trace("touch", "x", options=("--strict", "-o", "x.db"))
            self.assertEqual(code, 125)
            self.assertIn("GPU", err)
            self.assertFalse((self.dir / "x").exists())

    def test_keeps_standard_streams(self):
        process = self.start(WAVETAP, "trace", "-o", "t.db", "cat", stdin=subprocess.PIPE)
        out, _ = process.communicate("through and through\n", timeout=60)
        self.assertEqual(out, "through and through\n")
        code, out, _ = self.trace("sh", "-c", "ls -l /proc/self/fd | wc -l; ps -o pgid= -p $$",
                                  options=("-f", "-o", "t.db"))
        _, plain, _ = self.run_it("sh", "-c", "ls -l /proc/self/fd | wc -l; ps -o pgid= -p $$")
        self.assertEqual(out.split()[0], plain.split()[0])

    def test_terminal(self):
        """On a terminal: where it is, what it holds, what to type next."""
        text = self.on_terminal(WAVETAP, "trace", "-o", "t.db", PRODUCER, "-n", "300")
        for word in ("t.db", "300 kernels", "lost", "1 process", "wavetap summary t.db", "kernel"):
            self.assertIn(word, text)

    def test_collector_stands_apart(self):
        """No child, no session, no descriptor, no environment of the program's."""
        process = self.start(WAVETAP, "trace", "--session-dir", self.dir, "-o", "t.db",
                             PRODUCER, "-n", 10, "-x", "hang", env={"HSA_TOOLS_LIB": "x.so"})
        session = self.wait_joined()
        pid = self.collector_of(session)
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        parent = int(status.split("PPid:")[1].split()[0])
        self.assertNotIn(parent, (process.pid, os.getpid()))
        self.assertEqual(pathlib.Path(f"/proc/{pid}/comm").read_text(), "wavetap-collect\n")
        self.assertNotEqual(os.getsid(pid), os.getsid(process.pid))
        names = [e.split(b"=")[0] for e in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")]
        self.assertNotIn(b"LD_PRELOAD", names)
        self.assertNotIn(b"HSA_TOOLS_LIB", names)
        for fd in (0, 1):
            self.assertEqual(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
        self.assertEqual((session.stat().st_mode & 0o777), 0o700)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
