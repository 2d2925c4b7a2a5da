#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the readers of RPD and RTL files rely on: names, order and types of columns, the
queries they make (written here anew), and that older files become schema 3 and keep their rows.

usage: test_consumers.py STORE_SAMPLE
"""
import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SAMPLE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "store_sample"
TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/traces")

# RPD schema 3, then what RTL's readers want beside
TABLES = {
    "rocpd_metadata": "id tag value",
    "rocpd_string": "id string",
    "rocpd_ustring": "id string",
    "rocpd_api": "id pid tid start end apiName_id category_id domain_id args_id correlation_id",
    "rocpd_op": "id gpuId queueId sequenceId start end description_id opType_id completionSignal"
    " roctxId correlation_id",
    "rocpd_api_ops": "id api_id op_id",
    "rocpd_kernelapi": "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ"
    " groupSegmentSize privateSegmentSize kernelName_id api_id",
    "rocpd_copyapi": "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync"
    " pinned api_id",
    "rocpd_monitor": "id deviceType deviceId monitorType start end value",
    "rocpd_counter": "id value op_id name_id",
    "rocpd_stackframe": "id api_ptr_id depth name_id",
}
VIEWS = {
    "api": "id pid tid start end domain category apiName args",
    "op": "id gpuId queueId sequenceId start end description opType",
    "busy": "gpuId GpuTime WallTime Busy",
    "top": "Name TotalCalls TotalDuration_us Ave_us Percentage",
    "kernel": "id gpuId queueId sequenceId start end duration stream gridX gridY gridZ workgroupX"
    " workgroupY workgroupZ groupSegmentSize privateSegmentSize kernelName",
    "copy": "id pid tid start end apiName stream size width height kind dst src dstDevice srcDevice"
    " sync pinned",
    "copyop": "id gpuId queueId sequenceId start end duration stream size width height kind dst src"
    " dstDevice srcDevice sync pinned apiName",
    "napi": "id node pid tid start end domain category apiName args",
    "nop": "id node gpuId queueId sequenceId start end description opType",
    "rtl_top": "Name Calls TotalNs AvgNs MinNs MaxNs Pct",
    "rtl_busy": "gpuId utilization_pct ops busy_ns wall_ns",
}

RTL_NATIVE = """
CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT UNIQUE);
CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,
 completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER,
 roctxId INTEGER DEFAULT 0);
CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER,
 apiName_id INTEGER, args_id INTEGER);
CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
CREATE TABLE rocpd_kernelapi(api_id INTEGER PRIMARY KEY, stream TEXT, gridX INTEGER, gridY INTEGER,
 gridZ INTEGER, workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER,
 groupSegmentSize INTEGER, privateSegmentSize INTEGER, kernelName_id INTEGER);
CREATE TABLE rocpd_copyapi(api_id INTEGER PRIMARY KEY, stream TEXT, size INTEGER, dst TEXT, src TEXT,
 kind INTEGER, sync INTEGER);
CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, deviceType TEXT, deviceId INTEGER,
 monitorType TEXT, start INTEGER, end INTEGER, value TEXT);
CREATE VIEW top AS SELECT s.string AS Name, count(*) AS Calls FROM rocpd_op o
 JOIN rocpd_string s ON s.id = o.description_id GROUP BY 1;
CREATE VIEW busy AS SELECT gpuId FROM rocpd_op;
INSERT INTO rocpd_string VALUES (1, 'hipLaunchKernel'), (2, 'KernelExecution'), (3, 'old_kernel');
INSERT INTO rocpd_op VALUES (1, 0, 7, 0, 'hwq=7 wg=64,1,1 grid=64,1,1', 1000, 2000, 3, 2, 0);
INSERT INTO rocpd_op VALUES (2, 0, 7, 0, NULL, 3000, 4000, NULL, 2, 0);
INSERT INTO rocpd_api VALUES (1, 5, 6, 900, 950, 1, NULL);
INSERT INTO rocpd_kernelapi VALUES (1, '0x0', 1, 1, 1, 64, 1, 1, 0, 0, 3);
INSERT INTO rocpd_copyapi VALUES (1, '0x0', 16, '0x1', '0x2', 1, 1);
INSERT INTO rocpd_api_ops VALUES (1, 1, 1);
"""

RPD_2 = """
CREATE TABLE rocpd_metadata(id integer PRIMARY KEY AUTOINCREMENT, tag text NOT NULL, value text NOT NULL);
CREATE TABLE rocpd_string(id integer PRIMARY KEY AUTOINCREMENT, string text NOT NULL);
CREATE TABLE rocpd_kernelcodeobject(id integer PRIMARY KEY AUTOINCREMENT, vgpr integer NOT NULL);
CREATE TABLE rocpd_api(id integer PRIMARY KEY AUTOINCREMENT, pid integer NOT NULL, tid integer NOT NULL,
 start integer NOT NULL, end integer NOT NULL, apiName_id integer NOT NULL, args_id integer NOT NULL);
CREATE TABLE rocpd_op(id integer PRIMARY KEY AUTOINCREMENT, gpuId integer NOT NULL,
 queueId integer NOT NULL, sequenceId integer NOT NULL, completionSignal varchar(18) NOT NULL,
 start integer NOT NULL, end integer NOT NULL, description_id integer NOT NULL,
 opType_id integer NOT NULL);
CREATE TABLE rocpd_api_ops(id integer PRIMARY KEY AUTOINCREMENT, api_id integer NOT NULL,
 op_id integer NOT NULL);
CREATE TABLE rocpd_kernelapi(api_ptr_id integer NOT NULL PRIMARY KEY, stream varchar(18) NOT NULL,
 gridX integer NOT NULL, gridY integer NOT NULL, gridZ integer NOT NULL, workgroupX integer NOT NULL,
 workgroupY integer NOT NULL, workgroupZ integer NOT NULL, groupSegmentSize integer NOT NULL,
 privateSegmentSize integer NOT NULL, kernelArgAddress varchar(18) NOT NULL,
 codeObject_id integer NOT NULL, kernelName_id integer NOT NULL);
CREATE VIEW api AS SELECT a.id, n.string AS apiName, b.string AS args FROM rocpd_api a
 JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_string b ON b.id = a.args_id;
CREATE VIEW ktop AS SELECT count(*) FROM rocpd_kernelapi;
INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '2'), ('session_count', '1');
INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipMalloc'), (3, 'ptr=0x1 | size=0x10'),
 (4, 'KernelExecution'), (5, 'old_kernel');
INSERT INTO rocpd_api VALUES (4294967297, 5, 6, 900, 950, 2, 3), (4294967298, 5, 6, 960, 970, 2, 1);
INSERT INTO rocpd_op VALUES (4294967297, 2, 0, 0, '', 1000, 2000, 5, 4);
INSERT INTO rocpd_api_ops(api_id, op_id) VALUES (4294967298, 4294967297);
INSERT INTO rocpd_kernelapi VALUES (4294967298, '0x0', 1, 1, 1, 64, 1, 1, 0, 0, '', '', 5);
"""


def columns(db, name):
    return [row[1] for row in db.execute(f'PRAGMA table_xinfo("{name}")')]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wt-consumers-")
        self.path = os.path.join(self.folder, "t.db")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, *words):
        subprocess.run([SAMPLE, self.path, *words], check=True)
        db = sqlite3.connect(self.path)
        self.addCleanup(db.close)
        return db


class Names(Case):
    def check(self, db, names):
        for name, wanted in names.items():
            self.assertEqual(columns(db, name), wanted.split(), name)

    def test_wavetap(self):
        db = self.write("wavetap")
        self.check(db, TABLES)
        self.check(db, VIEWS)

    def test_rpd(self):
        db = self.write("rpd")
        self.check(db, TABLES)
        self.check(db, VIEWS)
        kinds = dict(db.execute("SELECT name, type FROM sqlite_master"))
        for name in TABLES:
            self.assertEqual(kinds[name], "table", name)

    def test_same_contents(self):
        """Both schemas tell the same, row by row."""
        dump = {}
        for schema in ("wavetap", "rpd"):
            db = self.write(schema)
            dump[schema] = {
                name: db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
                for name in ("api", "op", "busy", "top", "copy", "copyop", "rtl_top", "rtl_busy",
                             "napi", "nop", "rocpd_graphLaunchapi")}
            dump[schema]["links"] = db.execute(
                "SELECT api_id, op_id FROM rocpd_api_ops ORDER BY op_id").fetchall()
        for name, rows in dump["wavetap"].items():
            self.assertEqual(rows, dump["rpd"][name], name)
            self.assertTrue(rows, name)

    def test_integers(self):
        """Readers compute with these; a NULL or a text would end them."""
        for schema in ("wavetap", "rpd"):
            db = self.write(schema)
            for table in ("rocpd_op", "rocpd_api", "rocpd_api_ops"):
                for name in columns(db, table):
                    kinds = {row[0] for row in db.execute(f'SELECT typeof("{name}") FROM {table}')}
                    self.assertEqual(kinds, {"text" if name == "completionSignal" else "integer"},
                                     f"{schema} {table}.{name}")


class Documented(Case):
    def test_every_column(self):
        """docs/FORMAT.md has a section for each table, with a row for each column, in order."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/FORMAT.md")
        with open(path, encoding="utf-8") as file:
            sections = dict(part.split("\n", 1) for part in file.read().split("\n### ")[1:])
        db = self.write("wavetap")
        tables = [row[0] for row in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'wt\\_%' ESCAPE '\\'")]
        self.assertEqual(len(tables), 28)
        for table in tables:
            listed = [line.split("`")[1] for line in sections[table].split("\n## ")[0].splitlines()
                      if line.startswith("| `")]
            self.assertEqual(listed, columns(db, table), table)


class Queries(Case):
    def each(self):
        for schema in ("wavetap", "rpd"):
            with self.subTest(schema=schema):
                yield self.write(schema)

    def test_timeline(self):
        """A converter joins operations with two strings, calls with strings and arguments."""
        for db in self.each():
            ops = db.execute(
                "SELECT t.string, d.string, gpuId, queueId, rocpd_op.start / 1000.0,"
                " (rocpd_op.end - rocpd_op.start) / 1000.0 FROM rocpd_op"
                " INNER JOIN rocpd_string t ON t.id = rocpd_op.opType_id"
                " INNER JOIN rocpd_string d ON d.id = rocpd_op.description_id").fetchall()
            self.assertEqual(len(ops), 8)
            self.assertEqual(ops[0], ("KernelExecution", "_Z6vecAddPfS_S_i", 0, 1, 5000000030.0, 10.0))
            calls = db.execute(
                "SELECT n.string, u.string, pid, tid, rocpd_api.start FROM rocpd_api"
                " INNER JOIN rocpd_string n ON n.id = rocpd_api.apiName_id"
                " INNER JOIN rocpd_ustring u ON u.id = rocpd_api.args_id ORDER BY rocpd_api.id")
            self.assertEqual(calls.fetchone(), ("hipLaunchKernel", "", 100, 100, 5000000020000))
            links = db.execute(
                "SELECT rocpd_api_ops.id, pid, tid, gpuId, queueId FROM rocpd_api_ops"
                " INNER JOIN rocpd_api ON rocpd_api_ops.api_id = rocpd_api.id"
                " INNER JOIN rocpd_op ON rocpd_api_ops.op_id = rocpd_op.id").fetchall()
            self.assertEqual(len(links), 8)

    def test_schema_version(self):
        for db in self.each():
            tags = dict(db.execute("SELECT tag, value FROM rocpd_metadata"))
            self.assertEqual(int(tags["schema_version"]), 3)
            self.assertEqual(int(tags["pid"]), 100)
            self.assertEqual((tags["gpu_stride"], tags["pid_stride"]), ("1000", "10000000"))

    def test_dimensions(self):
        """RTL's readers take them from completionSignal, or from kernelapi by api_id."""
        for db in self.each():
            text = db.execute("SELECT completionSignal FROM rocpd_op WHERE id = 1").fetchone()[0]
            parts = dict(part.split("=") for part in text.split())
            self.assertEqual(parts, {"hwq": "1", "wg": "256,1,1", "grid": "1024,1,1"})
            api = db.execute("SELECT api_id FROM rocpd_api_ops WHERE op_id = ?", (1,)).fetchone()[0]
            self.assertEqual(db.execute("SELECT gridX, workgroupX FROM rocpd_kernelapi"
                                        " WHERE api_id = ?", (api,)).fetchone(), (1024, 256))

    def test_correlation(self):
        for db in self.each():
            self.assertEqual(db.execute(
                "SELECT count(*) FROM rocpd_op o JOIN rocpd_api a"
                " ON a.correlation_id = o.correlation_id JOIN rocpd_api_ops x"
                " ON x.api_id = a.id AND x.op_id = o.id").fetchone()[0], 8)

    def test_graph_launch(self):
        for db in self.each():
            self.assertEqual(db.execute(
                "SELECT graphExec, count(*) FROM rocpd_graphLaunchapi g JOIN rocpd_api_ops x"
                " ON x.api_id = g.api_ptr_id JOIN rocpd_op o ON o.id = x.op_id GROUP BY api_ptr_id"
            ).fetchall(), [("0x9999", 1)])

    def test_top(self):
        for db in self.each():
            rows = db.execute("SELECT * FROM top").fetchall()
            self.assertEqual(rows[0][:4], ("_Z6vecAddPfS_S_i", 3, 36, 12.0))
            self.assertIn("CopyHostToDevice", [row[0] for row in rows])
            self.assertAlmostEqual(sum(row[4] for row in rows), 100)

    def test_sentinels_are_listed(self):
        db = self.write("wavetap")
        for view, column in db.execute('SELECT view, "column" FROM wt_unknown'):
            joined = {"description": "description_id", "category": "category_id", "args": "args_id"}
            self.assertIn(joined.get(column, column), columns(db, view), f"{view}.{column}")

    def test_indices(self):
        """RPD's own scripts create these; a second set would double the file."""
        db = self.write("rpd")
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        for name in ("rocpd_strin_string_c7b9cd_idx", "rocpd_ustri_string_84d4a7_idx",
                     "rocpd_api_ops_api_id_op_id_e7e52317_uniq", "rocpd_api_ops_op_id_b35ab7c9",
                     "rocpd_op_opType_id_810aaccd", "rocpd_api_domain_id_081456b2"):
            self.assertIn(name, names)

    def test_lookup_by_id_is_no_scan(self):
        """A reader that asks row by row must not read the whole file each time."""
        db = self.write("wavetap")
        for table, key in (("rocpd_op", "id"), ("rocpd_api", "id"), ("rocpd_api_ops", "op_id"),
                           ("rocpd_kernelapi", "api_id"), ("rocpd_kernelapi", "api_ptr_id"),
                           ("rocpd_copyapi", "api_ptr_id"), ("rocpd_string", "id")):
            plan = db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE {key} = 1").fetchall()
            self.assertFalse([row for row in plan if row[3].startswith("SCAN")], f"{table}.{key}")

    def test_trimming(self):
        """raptor and rpd_trim delete calls, then what hung on them."""
        for db in self.each():
            db.execute("DELETE FROM rocpd_api WHERE start < 5000000040000 OR start > 5000000100000")
            db.execute("DELETE FROM rocpd_api_ops WHERE api_id NOT IN (SELECT id FROM rocpd_api)")
            db.execute("DELETE FROM rocpd_op WHERE id NOT IN (SELECT op_id FROM rocpd_api_ops)")
            db.commit()
            self.assertEqual(db.execute("SELECT count(*) FROM rocpd_api").fetchone()[0], 6)
            self.assertEqual(db.execute("SELECT count(*) FROM rocpd_op").fetchone()[0], 4)

    def test_metadata_can_be_written(self):
        for db in self.each():
            db.execute("INSERT INTO rocpd_metadata(tag, value) VALUES ('mine', '1')")
            db.execute("UPDATE rocpd_metadata SET value = '2' WHERE tag = 'mine'")
            self.assertEqual(db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'mine'")
                             .fetchall(), [("2",)])
            db.execute("DELETE FROM rocpd_metadata WHERE tag = 'mine'")
            self.assertFalse(db.execute("SELECT 1 FROM rocpd_metadata WHERE tag = 'mine'").fetchall())


class Migration(Case):
    def old(self, sql):
        db = sqlite3.connect(self.path)
        db.executescript(sql)
        db.close()

    def check(self, api_cnt, op_cnt):
        """Adds the sample twice; `api_cnt` and `op_cnt` rows were there."""
        for run in (1, 2):
            db = self.write("rpd", "append")
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            for name, wanted in TABLES.items():
                self.assertLessEqual(set(wanted.split()), set(columns(db, name)), name)
            for table, view, cnt in (("rocpd_api", "api", api_cnt + run * 11),
                                     ("rocpd_op", "op", op_cnt + run * 8)):
                for name in (table, view):
                    self.assertEqual(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0], cnt, name)
            self.assertEqual(db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'")
                             .fetchall(), [("3",)])
            # every link leads to rows of its own run
            self.assertEqual(db.execute(
                "SELECT count(*) FROM rocpd_api_ops x JOIN rocpd_api a ON a.id = x.api_id"
                " JOIN rocpd_op o ON o.id = x.op_id WHERE (a.start BETWEEN 5e12 AND 5.001e12)"
                " <> (o.start BETWEEN 5e12 AND 5.001e12)"
            ).fetchone()[0], 0)
            self.assertEqual(len(db.execute("SELECT * FROM kernel WHERE kernelName = '_Z6vecAddPfS_S_i'")
                                 .fetchall()), 3 * run)
        return db

    def test_rtl(self):
        self.old(RTL_NATIVE)
        db = self.check(1, 2)
        self.assertEqual(db.execute("SELECT * FROM rocpd_op WHERE id = 1").fetchone()[:10],
                         (1, 0, 7, 0, "hwq=7 wg=64,1,1 grid=64,1,1", 1000, 2000, 3, 2, 0))
        self.assertEqual(db.execute("SELECT apiName, args, domain FROM api WHERE id = 1").fetchone(),
                         ("hipLaunchKernel", "", ""))
        self.assertEqual(db.execute("SELECT kernelName FROM kernel WHERE id = 1").fetchone(),
                         ("old_kernel",))
        self.assertEqual(columns(db, "top"), VIEWS["top"].split())
        self.assertEqual(db.execute("SELECT correlation_id FROM rocpd_op WHERE id = 1").fetchone(), (0,))

    def test_rtl_with_log(self):
        """RTL leaves files in WAL mode: what is only in the log must not be lost."""
        db = sqlite3.connect(self.path)
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(RTL_NATIVE)
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(self.path + suffix, self.path + ".copy" + suffix)
        db.close()
        for suffix in ("", "-wal", "-shm"):
            os.replace(self.path + ".copy" + suffix, self.path + suffix)
        self.assertGreater(os.path.getsize(self.path + "-wal"), 0)
        self.check(1, 2)
        self.assertFalse(os.path.exists(self.path + "-wal"))

    def test_rpd_2(self):
        self.old(RPD_2)
        db = self.check(2, 1)
        self.assertEqual(db.execute("SELECT apiName, args FROM api WHERE id = 4294967297").fetchone(),
                         ("hipMalloc", "ptr=0x1 | size=0x10"))
        self.assertEqual(db.execute("SELECT count(*) FROM ktop").fetchone()[0], 1)  # foreign view stays
        self.assertEqual(db.execute("SELECT min(id) FROM rocpd_api WHERE pid = 100").fetchone()[0],
                         4294967299)

    def real(self, name):
        path = os.path.join(TRACES, name)
        if not os.path.exists(path):
            self.skipTest(f"{path} is not there")
        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as source, \
                open(self.path, "wb") as target:
            shutil.copyfileobj(source, target)
        db = sqlite3.connect(self.path)
        old = [db.execute(f"SELECT * FROM {view} ORDER BY id").fetchall() for view in ("api", "op")]
        db.close()
        return old

    def test_real_files(self):
        for name in ("rpd-matmul.rpd", "rpd-vllm.rpd.gz"):
            with self.subTest(name=name):
                api, op = self.real(name)
                db = self.check(len(api), len(op))
                self.assertEqual(db.execute("SELECT id, pid, tid, start, end, apiName, args FROM api"
                                            " ORDER BY id LIMIT ?", (len(api),)).fetchall(), api)
                self.assertEqual(db.execute("SELECT * FROM op ORDER BY id LIMIT ?",
                                            (len(op),)).fetchall(), op)


if __name__ == "__main__":
    unittest.main()
