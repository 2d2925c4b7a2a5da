# SPDX-License-Identifier: MIT
"""The oracle itself, on a made-up log and trace: it accepts the right one and no wrong one."""
import json
import pathlib
import sqlite3
import tempfile
import unittest

import oracle

TABLES = """
CREATE TABLE wt_run(id INTEGER PRIMARY KEY, origin_ns INTEGER);
CREATE TABLE wt_string(id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE wt_process(id INTEGER PRIMARY KEY, parent_id INTEGER, pid INTEGER, joined INTEGER,
  forked INTEGER, exit_kind INTEGER, command TEXT);
CREATE TABLE wt_device(id INTEGER PRIMARY KEY, node INTEGER);
CREATE TABLE wt_queue(id INTEGER PRIMARY KEY, hsa_id INTEGER);
CREATE TABLE wt_stream(id INTEGER PRIMARY KEY, number INTEGER);
CREATE TABLE wt_symbol(id INTEGER PRIMARY KEY, name_id INTEGER);
CREATE TABLE wt_lane(id INTEGER PRIMARY KEY, process_id INTEGER, device_id INTEGER,
  queue_id INTEGER, stream_id INTEGER);
CREATE TABLE wt_shape(id INTEGER PRIMARY KEY, kind INTEGER, symbol_id INTEGER, grid_x, grid_y,
  grid_z, block_x, block_y, block_z, group_bytes, private_bytes, overlaps, copy_kind);
CREATE TABLE wt_copy(id INTEGER PRIMARY KEY, bytes INTEGER, dst INTEGER, src INTEGER,
  dst_device_id INTEGER, src_device_id INTEGER);
CREATE TABLE wt_state(id INTEGER PRIMARY KEY, in_flight INTEGER, untimed TEXT);
CREATE TABLE wt_op(id INTEGER PRIMARY KEY, start INTEGER, duration INTEGER, shape_id INTEGER,
  lane_id INTEGER, api_id INTEGER, packet INTEGER, node INTEGER, state_id INTEGER);
CREATE TABLE wt_lost(id INTEGER PRIMARY KEY, cause TEXT, count INTEGER);
INSERT INTO wt_run VALUES(1, 1000);
INSERT INTO wt_process VALUES(1, NULL, 42, 0, 0, 1, 'x');
INSERT INTO wt_device VALUES(1, 1);
INSERT INTO wt_queue VALUES(1, 7);
INSERT INTO wt_string VALUES(1, 'scale.kd');
INSERT INTO wt_symbol VALUES(1, 1);
INSERT INTO wt_lane VALUES(1, 1, 1, 1, NULL), (2, 1, 1, NULL, NULL);
INSERT INTO wt_shape VALUES(1, 1, 1, 256, 1, 1, 64, 1, 1, 512, 0, 0, NULL);
INSERT INTO wt_shape(id, kind, overlaps, copy_kind) VALUES(2, 2, 0, 1);
INSERT INTO wt_shape(id, kind, symbol_id, overlaps, copy_kind) VALUES(3, 3, 1, 0, 16);
INSERT INTO wt_state VALUES(1, 1, NULL), (2, 0, 'time.shared-signal');
"""
KERNELS, FILL = 20, 60


def dispatch(index, end=True):
    return {"kind": "dispatch", "pid": 42, "gpu": 0, "queue": 3, "index": index,
            "engine": "compute", "kernel": "scale", "kernel_object": 5, "grid": [256, 1, 1],
            "workgroup": [64, 1, 1], "group_segment": 512, "private_segment": 0,
            "barrier_bit": True, "start": 2000 + 100 * index,
            "end": 2090 + 100 * index if end else None, "bytes": 0, "signal": 1,
            "interrupt": False}


class Oracle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.lines = [{"kind": "queue", "pid": 42, "queue": 3, "hsa_queue_id": 7}]
        self.lines += [dispatch(i) for i in range(KERNELS)]
        self.lines.append({"kind": "copy", "pid": 42, "gpu": 0, "queue": 9, "index": 0,
                           "engine": "sdma", "source": 1, "source_gpu": None, "target": 2,
                           "target_gpu": 0, "barrier_bit": False,
                           "start": 9000, "end": 9500, "bytes": 4096, "signal": 1,
                           "interrupt": False})
        self.lines.append({**dispatch(FILL), "kind": "fill", "bytes": 64, "target": 2,
                           "target_gpu": 0})
        self.lines.append({"kind": "process", "pid": 42, "image": 0, "lost": 0, "interrupts": 0})
        self.db = sqlite3.connect(self.folder / "t.db")
        self.db.executescript(TABLES)
        for i in range(KERNELS):
            self.db.execute("INSERT INTO wt_op VALUES(?, ?, 90, 1, 1, NULL, ?, NULL, NULL)",
                            (i + 1, 1000 + 100 * i, i))
        self.db.execute("INSERT INTO wt_op VALUES(100, 8000, 500, 2, 2, NULL, NULL, NULL, NULL)")
        self.db.execute("INSERT INTO wt_copy VALUES(100, 4096, 2, 1, 1, 0)")
        self.db.execute("INSERT INTO wt_op VALUES(200, ?, 90, 3, 1, NULL, ?, NULL, NULL)",
                        (1000 + 100 * FILL, FILL))
        self.db.execute("INSERT INTO wt_copy VALUES(200, 64, 2, NULL, 1, NULL)")
        self.addCleanup(self.db.close)

    def compare(self, **allowed):
        self.db.commit()
        path = self.folder / "log.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        trace = oracle.Trace(self.folder / "t.db")
        try:
            return oracle.compare(oracle.Log(path), trace, **allowed)
        finally:
            trace.close()

    def change(self, statement):
        self.assertTrue(self.db.execute(statement).rowcount)

    def test_right(self):
        self.assertEqual(self.compare(), [])

    def test_within_tolerance(self):
        self.change(f"UPDATE wt_op SET start = start + {oracle.TOLERANCE_NS} WHERE id = 3")
        self.change(f"UPDATE wt_op SET duration = duration - {oracle.TOLERANCE_NS} WHERE id = 3")
        self.assertEqual(self.compare(), [])

    def test_wrong(self):
        beyond = oracle.TOLERANCE_NS + 1
        for name, statement in {
                "dropped": "DELETE FROM wt_op WHERE id = 5",
                "twice": "INSERT INTO wt_op SELECT 50, start, duration, shape_id, lane_id, api_id,"
                         " packet, node, state_id FROM wt_op WHERE id = 5",
                "start": f"UPDATE wt_op SET start = start + {beyond} WHERE id = 5",
                "end": f"UPDATE wt_op SET duration = duration + {beyond} WHERE id = 5",
                "swapped": "UPDATE wt_op SET packet = CASE packet WHEN 3 THEN 4 ELSE 3 END"
                           " WHERE packet IN (3, 4)",
                "name": "UPDATE wt_string SET string = 'scald.kd'",
                "no name": "UPDATE wt_shape SET symbol_id = NULL WHERE id = 1",
                "grid": "UPDATE wt_shape SET grid_z = 2 WHERE id = 1",
                "block": "UPDATE wt_shape SET block_x = 32 WHERE id = 1",
                "group": "UPDATE wt_shape SET group_bytes = 0 WHERE id = 1",
                "private": "UPDATE wt_shape SET private_bytes = NULL WHERE id = 1",
                "kind": "UPDATE wt_shape SET kind = 3 WHERE id = 1",
                "overlaps": "UPDATE wt_shape SET overlaps = 1 WHERE id = 1",
                "no times": "UPDATE wt_op SET start = NULL, duration = NULL WHERE id = 5",
                "untimed": "UPDATE wt_op SET start = NULL, duration = NULL, state_id = 2"
                           " WHERE id = 5",
                "in flight": "UPDATE wt_op SET start = NULL, duration = NULL, state_id = 1"
                             " WHERE id = 5",
                "never executed": "UPDATE wt_op SET packet = 99 WHERE id = 5",
                "process": "UPDATE wt_process SET pid = 43",
                "device": "UPDATE wt_device SET node = 2",
                "queue": "UPDATE wt_queue SET hsa_id = 8",
                "copy dropped": "DELETE FROM wt_op WHERE id = 100",
                "copy twice": "INSERT INTO wt_op SELECT 101, start, duration, shape_id, lane_id,"
                              " api_id, packet, node, state_id FROM wt_op WHERE id = 100",
                "copy's size": "UPDATE wt_copy SET bytes = 4095 WHERE id = 100",
                "fill's size": "UPDATE wt_copy SET bytes = 65 WHERE id = 200",
                "no size": "UPDATE wt_copy SET bytes = NULL WHERE id = 200",
                "target": "UPDATE wt_copy SET dst = 3 WHERE id = 100",
                "source": "UPDATE wt_copy SET src = 2 WHERE id = 100",
                "fill's source": "UPDATE wt_copy SET src = 0 WHERE id = 200",
                "target's place": "UPDATE wt_copy SET dst_device_id = 0 WHERE id = 100",
                "source's place": "UPDATE wt_copy SET src_device_id = NULL WHERE id = 100",
                "copy's kind": "UPDATE wt_shape SET copy_kind = 2 WHERE id = 2",
                "fill's kind": "UPDATE wt_shape SET copy_kind = NULL WHERE id = 3",
                "copy's start": f"UPDATE wt_op SET start = start - {beyond} WHERE id = 100",
                "copy's end": f"UPDATE wt_op SET duration = duration - {beyond} WHERE id = 100",
        }.items():
            with self.subTest(name):
                self.change(statement)
                self.assertTrue(self.compare(), f"not noticed: {name}")
                self.db.close()
                (self.folder / "t.db").unlink()
                self.setUp()  # back to the right trace

    def test_allowances(self):
        """What a test allows is allowed, and no more."""
        self.change("UPDATE wt_op SET start = NULL, duration = NULL, state_id = 2 WHERE id = 5")
        self.assertEqual(self.compare(untimed={"time.shared-signal"}), [])
        self.assertTrue(self.compare(untimed={"time.no-room"}))

    def test_in_flight(self):
        self.lines.insert(-2, dispatch(KERNELS, end=False))
        self.assertTrue(self.compare(), "an operation in flight is missing")
        self.change("INSERT INTO wt_op VALUES(60, NULL, NULL, 1, 1, NULL, 20, NULL, 1)")
        self.assertEqual(self.compare(), [])
        # submitted and not begun: not in the log at all
        self.change("INSERT INTO wt_op VALUES(61, NULL, NULL, 1, 1, NULL, 21, NULL, 1)")
        self.assertEqual(self.compare(), [])
        self.change("UPDATE wt_op SET start = NULL, duration = NULL, state_id = 1 WHERE id = 20")
        self.assertEqual(self.compare(late_per_queue=1), [])
        self.assertTrue(self.compare())
        self.change("UPDATE wt_op SET start = NULL, duration = NULL, state_id = 1 WHERE id = 19")
        self.assertTrue(self.compare(late_per_queue=1))

    def test_late_copy(self):
        """A killed program's copy may have lost its times, but must be there."""
        self.change("UPDATE wt_op SET start = NULL, duration = NULL, state_id = 1 WHERE id = 100")
        self.assertTrue(self.compare())
        self.assertEqual(self.compare(late_per_queue=1), [])
        self.change("DELETE FROM wt_op WHERE id = 100")
        self.assertTrue(self.compare(late_per_queue=1))

    def test_lost(self):
        self.change("DELETE FROM wt_op WHERE id IN (4, 5)")
        self.assertTrue(self.compare(lost={"operation.no-slots"}), "missing, but not counted")
        self.change("INSERT INTO wt_lost VALUES(1, 'operation.no-slots', 2)")
        self.assertEqual(self.compare(lost={"operation.no-slots"}), [])
        self.assertTrue(self.compare(), "missing, but not allowed")
        self.assertTrue(self.compare(lost={"operation.slot-busy"}), "another cause")
        self.change("UPDATE wt_lost SET count = 3")
        self.assertTrue(self.compare(lost={"operation.no-slots"}), "more counted than missing")

    def test_incomplete_log(self):
        self.lines[-1]["lost"] = 1
        with self.assertRaises(ValueError):
            self.compare()


if __name__ == "__main__":
    unittest.main()
