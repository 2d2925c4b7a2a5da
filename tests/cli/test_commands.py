#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands as people and scripts use them: output, width, JSON, CSV, exit codes, hints.

usage: test_commands.py WAVETAP STORE_SAMPLE
"""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

WAVETAP, SAMPLE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wt-cli-")
        cls.db = os.path.join(cls.folder, "t.db")
        cls.rpd = os.path.join(cls.folder, "t.rpd")
        subprocess.run([SAMPLE, cls.db], check=True)
        subprocess.run([SAMPLE, cls.rpd, "rpd"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_it(self, *words, code=0, columns="80", stdin=""):
        done = subprocess.run([WAVETAP, *words], capture_output=True, text=True, input=stdin,
                              env={**os.environ, "COLUMNS": columns, "TZ": "UTC"})
        self.assertEqual(done.returncode, code, f"{words}: {done.stderr}")
        if code == 0:
            self.assertEqual(done.stderr, "")
        return done

    def out(self, *words, **named):
        return self.run_it(*words, **named).stdout

    def error(self, *words, code, **named):
        done = self.run_it(*words, code=code, **named)
        self.assertTrue(done.stderr.startswith("wavetap: "), done.stderr)
        return done.stderr


class Help(Case):
    def commands(self):
        return re.findall(r"^  ([a-z-]+)  ", self.out("--help"), re.M)

    def test_every_command(self):
        self.assertIn("summary", self.commands())
        for command in self.commands():
            text = self.out(command, "--help")
            self.assertIn(f"usage: wavetap {command}", text)
            if "(not yet)" not in text and command != "help":
                self.assertIn("\nexamples:\n", text)
                self.assertEqual(self.out("help", command), text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100, command)

    def test_not_yet(self):
        for command in ("graphs", "waits", "critical-path", "export", "import", "merge", "diff",
                        "view", "top", "start", "stop", "snapshot"):
            self.assertIn("not yet", self.error(command, "x", code=2))
        for by in ("range", "graph", "wait", "path", "rank"):
            self.assertIn(f"not yet: --by {by} ", self.error("summary", self.db, "--by", by, code=2))

    def test_mistakes(self):
        self.assertIn("did you mean wavetap summary", self.error("sumary", "x", code=2))
        self.assertIn("did you mean --sort", self.error("summary", self.db, "--srot", code=2))
        self.assertIn("which FILE", self.error("summary", code=2))
        self.assertIn("one FILE", self.error("info", self.db, self.rpd, code=2))
        self.assertIn("exclude", self.error("summary", self.db, "--json", "--csv", code=2))
        self.assertIn("regular expression", self.error("summary", self.db, "--group", "(", code=2))
        self.assertIn("expected kernel|api", self.error("summary", self.db, "--by", "x", code=2))
        self.run_it(code=2)

    def test_version(self):
        self.assertRegex(self.out("--version"), r"^wavetap \d+\.\d+")

    def test_completion(self):
        script = self.out("help", "--completion")
        shell = subprocess.run(
            ["bash", "-c", script + "\nCOMP_WORDS=(wavetap summary --by ''); COMP_CWORD=3; _wavetap;"
             'echo "${COMPREPLY[@]}"; COMP_WORDS=(wavetap su); COMP_CWORD=1; _wavetap;'
             'echo "${COMPREPLY[@]}"; COMP_WORDS=(wavetap summary --js); COMP_CWORD=2; _wavetap;'
             'echo "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True)
        lines = shell.stdout.splitlines()
        self.assertEqual(lines[0].split()[:2], ["kernel", "api"])
        self.assertEqual(lines[1:], ["summary", "--json"])

    def test_man(self):
        page = self.out("help", "--man")
        self.assertIn(".SS wavetap summary", page)
        self.assertEqual(set(re.findall(r"(?m)^\.\S*", page)),
                         {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".nf", ".fi"})
        self.assertNotRegex(page, r"(?m)[^\n]\.B ")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z"], input=page, text=True,
                                  capture_output=True, check=True)
            self.assertEqual(done.stderr, "")


class Summary(Case):
    def test_kernels(self):
        text = self.out("summary", self.db)
        lines = text.splitlines()
        # what was captured and lost comes first
        self.assertRegex(lines[0], r"^trace .*t\.db: 229 us, 2 processes, 2 GPUs")
        self.assertEqual(lines[1], "captured  11 operations (8 kernels, 2 copies, 1 fill), 12 API calls")
        self.assertRegex(lines[2], r"^lost      17 API calls not recorded")
        self.assertRegex(lines[3], r"^untimed   1 operation without times: .*signal")
        self.assertIn("at end    1 operation in flight, 1 call not returned", lines)
        self.assertIn("off       hsa: forked child: the driver forbids it", lines)
        row = next(line for line in lines if line.endswith("vecAdd")).split()
        self.assertEqual(row, "51.4 % 36.0 us 3 12.0 us 10.0 us 14.0 us vecAdd".split())

    def test_width(self):
        for columns in (40, 60, 80, 200):
            for by in ("kernel", "api", "copy", "stream", "device", "process"):
                text = self.out("summary", self.db, "--by", by, "--names", "full", columns=str(columns))
                table = text.split("\n\n", 1)[1].splitlines()
                if columns >= 60:
                    self.assertLessEqual(max(map(len, table)), columns, f"--by {by}\n{text}")

    def test_narrow(self):
        """What tells rows apart stays: not the folder, not the vendor's name."""
        self.assertRegex(self.out("summary", self.db, "--by", "device"), r"GPU 0 \[\w\w:\w\w\.\w\] gfx")
        self.assertRegex(self.out("summary", self.db, "--by", "process"), r"pid 100.* python3\S* train\.py")
        self.assertRegex(self.out("summary", self.db, "--by", "stream"), r"stream \d+, GPU \d")
        self.assertNotIn("(null)", self.out("summary", self.db, "--by", "stream", columns="200"))

    def test_no_failures(self):
        """Columns of failures are there where something failed."""
        import sqlite3
        text = self.out("summary", self.db, "--by", "api", columns="200")
        self.assertIn("Failed", text)
        path = os.path.join(self.folder, "good.db")
        shutil.copy(self.db, path)
        db = sqlite3.connect(path)
        db.executescript("UPDATE wt_api SET ret = 0; UPDATE wt_api SET duration = 1 WHERE duration IS NULL")
        db.close()
        text = self.out("summary", path, "--by", "api", columns="200")
        self.assertNotIn("Failed", text)
        self.assertNotIn("Open", text)
        self.assertIn("failed", self.out("summary", path, "--by", "api", "--csv"))

    def test_names(self):
        for names, wanted in (("short", "gemm<16, float>"), ("full", "void ns::gemm<16, float>(float*)"),
                              ("mangled", "_ZN2ns4gemmILi16EfEEvPT0_")):
            self.assertIn(wanted, self.out("summary", self.db, "--names", names, columns="200"))

    def test_json(self):
        for path in (self.db, self.rpd):
            rows = {}
            for by in ("kernel", "api", "copy", "device", "process"):
                data = json.loads(self.out("summary", path, "--by", by, "--json"))
                self.assertEqual(data["by"], by)
                self.assertEqual(data["lost"][0]["cause"], "call.ring-full")
                self.assertEqual(data["lost"][0]["count"], 17)
                self.assertEqual({row["cause"] for row in data["untimed"]},
                                 {"time.shared-signal", "time.not-stamped"})
                rows[by] = {row["name"]: row for row in data["rows"]}
            self.assertEqual(rows["kernel"]["vecAdd"], {
                "name": "vecAdd", "share": 36 / 70, "total_ns": 36000, "count": 3,
                "average_ns": 12000, "min_ns": 10000, "max_ns": 14000})
            launch = rows["api"]["hipLaunchKernel"]
            self.assertEqual((launch["count"], launch["total_ns"]), (7, 21000))

    def test_runs_add_up(self):
        """Two runs in one file: losses of both, the same GPUs once."""
        for schema in ("wavetap", "rpd"):
            path = os.path.join(self.folder, "two-" + schema)
            subprocess.run([SAMPLE, path, schema], check=True)
            subprocess.run([SAMPLE, path, schema, "append"], check=True)
            data = json.loads(self.out("summary", path, "--json"))
            self.assertEqual(data["lost"][0]["count"], 34)
            self.assertEqual({row["count"] for row in data["untimed"]}, {2})
            if schema == "wavetap":
                self.assertEqual((data["captured"]["runs"], data["captured"]["devices"]), (2, 2))

    def test_losses_not_told(self):
        """RPD's own files do not say what they lost: that is not "nothing"."""
        import sqlite3
        path = os.path.join(self.folder, "foreign.rpd")
        shutil.copy(self.rpd, path)
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM rocpd_metadata WHERE tag LIKE 'wavetap::%'")
        db.close()
        self.assertIn("lost      not told by this file", self.out("summary", path))
        self.assertIsNone(json.loads(self.out("info", path, "--json"))["lost"])

    def test_only_wavetap_tells(self):
        data = json.loads(self.out("summary", self.db, "--by", "api", "--json"))
        rows = {row["name"]: row for row in data["rows"]}
        self.assertEqual(rows["hipMalloc"]["failed"], 1)
        self.assertEqual(rows["hipDeviceSynchronize"]["not_returned"], 1)
        self.assertEqual(rows["hipDeviceSynchronize"]["average_ns"], 0)
        data = json.loads(self.out("summary", self.db, "--by", "copy", "--json"))
        rows = {row["name"]: row for row in data["rows"]}
        self.assertEqual(rows["host to device"]["bytes"], 4096)
        self.assertEqual(rows["host to device"]["bytes_per_second"], 409600000)
        self.assertEqual(rows["fill, by a kernel"]["count"], 1)
        # an RPD file does not tell bytes: null, not 0
        data = json.loads(self.out("summary", self.rpd, "--by", "copy", "--json"))
        self.assertIsNone(data["rows"][0]["bytes"])
        self.assertIn("not told", self.error("summary", self.rpd, "--by", "stream", code=1))

    def test_busy(self):
        """Overlapping operations count once: five kernels of the sample overlap nothing."""
        data = json.loads(self.out("summary", self.db, "--by", "device", "--json"))
        self.assertEqual(data["rows"][0]["busy_ns"], 60000 + 10000 + 2000 + 10000)
        self.assertEqual(data["rows"][0]["kernels"], 6)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.out("summary", self.db, "--csv"))))
        self.assertEqual([row["name"] for row in rows],
                         ["vecAdd", "gemm<16, float>", "Cijk_Ailk_Bljk_SB_MT64x64x16"])
        self.assertEqual(rows[0]["total_ns"], "36000")

    def test_limit_and_order(self):
        text = self.out("summary", self.db, "-n", "1", "--sort", "name")
        self.assertIn("Cijk", text)
        self.assertNotIn("vecAdd", text)
        self.assertIn("2 more rows; -n 0 prints all", text)
        self.assertIn("\n1 more row; -n 0", self.out("summary", self.db, "-n", "2"))
        data = json.loads(self.out("summary", self.db, "--json", "--sort", "count"))
        self.assertEqual([row["count"] for row in data["rows"]], [3, 2, 1])

    def test_window(self):
        data = json.loads(self.out("summary", self.db, "--json", "--since", "50us", "--until", "90us"))
        self.assertEqual({row["name"]: row["count"] for row in data["rows"]},
                         {"vecAdd": 1, "gemm<16, float>": 1})
        self.assertIn("No kernels with times began between", self.out("summary", self.db, "--since", "9s"))

    def test_group(self):
        data = json.loads(self.out("summary", self.db, "--json", "--group", "Cijk|g(em)m"))
        self.assertEqual({row["name"]: row["count"] for row in data["rows"]},
                         {"Cijk": 1, "em": 2, "(other)": 3})

    def test_empty(self):
        """An empty trace says why."""
        import sqlite3
        path = os.path.join(self.folder, "empty-trace.db")
        for statement, wanted in (
                ("", "All of them were lost"),
                ("DELETE FROM wt_lost", "no work was submitted while recording"),
                ("DELETE FROM wt_process; DELETE FROM wt_lost", "no process made a HIP or HSA call")):
            shutil.copy(self.db, path)
            db = sqlite3.connect(path)
            db.executescript("DELETE FROM wt_op; DELETE FROM wt_api;" + statement)
            db.close()
            for command in ("summary", "info"):
                text = self.out(command, path)
                self.assertIn(wanted.lower(), text.lower())
                # the sources have their say
                self.assertIn("hsa (off): forked child: the driver forbids it", text)
            self.assertEqual(json.loads(self.out("summary", path, "--json"))["rows"], [])

    def test_terminal(self):
        """On a terminal the table is as wide as that, whatever COLUMNS says."""
        import pty
        import fcntl
        import struct
        import termios
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        subprocess.run([WAVETAP, "summary", self.db, "--names", "full"], stdout=theirs, check=True,
                       env={**os.environ, "COLUMNS": "200"})
        os.close(theirs)
        text = b""
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:
                break
        os.close(ours)
        table = text.decode().replace("\r", "").split("\n\n", 1)[1].splitlines()
        self.assertLessEqual(max(map(len, table)), 40)
        self.assertIn("\N{HORIZONTAL ELLIPSIS}", table[1] + table[2])

    def test_alias(self):
        self.assertEqual(self.out("report", self.db), self.out("summary", self.db))


class Info(Case):
    def test_text(self):
        text = self.out("info", self.db, columns="200")
        for wanted in ("began     2023-11-14 22:13:20 +0000", "python3 train.py", "AMD Instinct MI210",
                       "41:01.0", "slots: the GPU stamps shared memory", "120 ns", "in flight"):
            self.assertIn(wanted, text)

    def test_json(self):
        data = json.loads(self.out("info", self.db, "--json"))
        self.assertEqual(data["schema"], "wavetap")
        self.assertEqual(data["processes"][1]["parent_pid"], 100)
        self.assertIsNone(data["processes"][1]["ran_ns"])
        self.assertEqual(data["devices"][0]["uuid"], "f00000000000abce")
        self.assertEqual([(d["hip_ordinal"], d["uuid_text"], d["pci"], d["memory_bytes"],
                           d["asic_revision"]) for d in data["devices"]],
                         [(0, "GPU-f00000000000abce", "0000:41:01.0", 68702699520, None),
                          (None, None, "0000:41:02.0", 68702699520, None)])
        pids = [str(process["pid"]) for process in data["processes"]]
        self.assertEqual([(s["name"], s["value"], s["whole_bytes"], s["processes"])
                          for s in data["settings"]],
                         [("ROCR_VISIBLE_DEVICES", "0", None, pids[0]),
                          ("ROCR_VISIBLE_DEVICES", "1", None, pids[1]),
                          ("XLA_FLAGS", "", 5000, pids[0]), ("XLA_FLAGS", "", None, pids[1])])
        self.assertEqual({v["version"]: v["processes"] for v in data["versions"]},
                         {"7.2.1": pids[0], None: pids[1]})
        self.assertEqual(data["clocks"][0]["worst_uncertainty_ns"], 120)
        self.assertEqual(sum(row["count"] for row in data["left_out"]), 4)
        self.assertEqual(json.loads(self.out("info", self.rpd, "--json"))["schema"], "rpd")


class Sql(Case):
    def test_query(self):
        self.assertEqual(json.loads(self.out("sql", self.db, "--json",
                                             "SELECT id, NULL AS n, 1.5 AS f, 'ä' AS t FROM wt_op"
                                             " LIMIT 1")), [{"id": 1, "n": None, "f": 1.5, "t": "ä"}])
        self.assertEqual(self.out("sql", self.db, "--csv", "SELECT 'a,\"b' AS x"), 'x\n"a,""b"\n')
        self.assertEqual(self.out("sql", self.db, stdin="SELECT 1 AS a; -- end\nSELECT 2 AS b;"),
                         "a\n1\nb\n2\n")

    def test_read_only(self):
        for query in ("DELETE FROM wt_op", "CREATE TABLE x(y)", "DROP VIEW top", "PRAGMA user_version = 9",
                      f"ATTACH '{self.folder}/new.db' AS x; CREATE TABLE x.y(z)"):
            self.error("sql", self.db, query, code=1)
        self.assertFalse(os.path.exists(f"{self.folder}/new.db"))
        for query in ("SELECT nonsense", "SELECT * FROM absent"):
            text = self.error("sql", self.db, query, code=1)
            self.assertIn("no such", text)
            self.assertIn("hint: wavetap sql", text)
        self.assertIn("hint: wavetap sql only reads", self.error("sql", self.db, "DELETE FROM wt_op", code=1))


class Files(Case):
    def test_refused(self):
        import sqlite3
        with open(self.db, "rb") as file:
            start = file.read(5000)
        for name, content, wanted in (("empty.db", b"", "empty"), ("text.db", b"hello world, no trace", "not a trace"),
                                      ("gz.db", b"\x1f\x8b\x08", "gunzip"),
                                      ("cut.db", start, "")):
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(content)
            for command in ("summary", "info", "sql"):
                words = (command, path, "SELECT * FROM wt_op") if command == "sql" else (command, path)
                self.assertIn(wanted, self.error(*words, code=1))
                if name != "cut.db":
                    self.assertEqual(self.error(*words, code=1).count("hint: "), 1)
        other = os.path.join(self.folder, "other.db")
        with sqlite3.connect(other) as db:
            db.execute("CREATE TABLE t(a)")
        for path in (other, self.folder):
            self.assertEqual(self.error("summary", path, code=1).count("hint: "), 1)
        self.assertIn("No such file", self.error("summary", "/nonexistent/x.db", code=1))
        self.assertIn("regular file", self.error("summary", self.folder, code=1))

    def test_recover(self):
        """What is no session is not taken for one."""
        for path in ("/nonexistent", self.folder, self.db):
            text = self.error("recover", path, code=1)
            self.assertIn(path, text)
            self.assertEqual(text.count("hint: "), 1, text)

    def test_views_instead_of_tables(self):
        """A view called wt_op could run for ever."""
        import sqlite3
        path = os.path.join(self.folder, "evil.db")
        shutil.copy(self.db, path)
        with sqlite3.connect(path) as db:
            db.executescript("DROP TABLE wt_op; CREATE VIEW wt_op AS WITH RECURSIVE r(n) AS"
                             " (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS id FROM r")
        self.error("summary", path, code=1)

    def test_odd_names(self):
        """SQLite would take ? # % in a name for its own."""
        path = os.path.join(self.folder, "a?b#c%20 d.db")
        shutil.copy(self.db, path)
        self.assertIn("vecAdd", self.out("summary", path))

    def test_read_only_folder(self):
        """A trace in WAL mode where no -shm file can be made."""
        import sqlite3
        folder = os.path.join(self.folder, "ro")
        os.mkdir(folder)
        path = os.path.join(folder, "t.db")
        shutil.copy(self.db, path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        db.close()
        os.chmod(folder, 0o555)
        self.assertIn("vecAdd", self.out("summary", path))
        os.chmod(folder, 0o755)

    def test_closed_output(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([WAVETAP, "summary", self.db], stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


class Doctor(Case):
    def test_doctor(self):
        self.assertIn("CPU clock", self.out("doctor"))
        data = json.loads(self.out("doctor", "--json"))
        self.assertIn(data["gpu_driver"]["level"], ("ok", "missing"))
        self.assertTrue(data["shared_memory"]["text"])


if __name__ == "__main__":
    unittest.main()
