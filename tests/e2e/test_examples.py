# SPDX-License-Identifier: MIT
"""Every example, operation for operation; and the proof that the comparison can fail."""
import shutil
import sqlite3
import unittest

import oracle
from harness import EXAMPLES, Case, need


class Examples(Case):
    def example(self, name, gpus=1, arguments=()):
        program = [EXAMPLES / name, *arguments]
        plain, _ = self.untraced(program, gpus)
        self.assertEqual(plain.code, 0, plain)
        traced, log, trace = self.traced(program, gpus=gpus)
        self.assert_undisturbed(plain, traced, stderr=True)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)
        self.assertTrue(all(o.api_id for o in trace.operations if o.kind == oracle.KERNEL),
                        "a kernel without its call")
        return log, trace

    @need(EXAMPLES / "pipeline")
    def test_pipeline(self):
        self.example("pipeline")

    @need(EXAMPLES / "train_loop")
    def test_train_loop(self):
        self.example("train_loop")

    @need(EXAMPLES / "two_gpus")
    def test_two_gpus(self):
        _, trace = self.example("two_gpus", gpus=2)
        self.assertEqual({o.device for o in trace.operations}, {0, 1})

    @need(EXAMPLES / "graph_replay")
    def test_graph_replay(self):
        log, trace = self.example("graph_replay")
        # a replay's kernels belong to the call that replayed them
        replays = trace.value(
            "SELECT count(*) FROM wt_op o JOIN wt_shape s ON s.id = o.shape_id"
            " JOIN wt_api a ON a.id = o.api_id JOIN wt_call c ON c.id = a.call_id"
            " JOIN wt_string n ON n.id = c.name_id"
            " WHERE s.kind = 1 AND n.string = 'hipGraphLaunch'")
        self.assertEqual(replays, 10 * (3 + 7 + 3))
        self.mutations(log, trace)

    def mutations(self, log, trace):
        """Each wrong trace must be told from the right one."""
        row = ("(SELECT max(o.id) FROM wt_op o JOIN wt_shape s ON s.id = o.shape_id"
               " WHERE s.kind = 1 AND o.start IS NOT NULL)")
        wrong = {
            "dropped": f"DELETE FROM wt_op WHERE id = {row}",
            "later": f"UPDATE wt_op SET start = start + {oracle.TOLERANCE_NS + 1} WHERE id = {row}",
            "longer": f"UPDATE wt_op SET duration = duration + 100 WHERE id = {row}",
            "twice": "INSERT INTO wt_op SELECT (SELECT max(id) + 1 FROM wt_op), start, duration,"
                     f" shape_id, lane_id, api_id, packet, node, state_id FROM wt_op WHERE id = {row}",
            "another packet": f"UPDATE wt_op SET packet = packet + 100000 WHERE id = {row}",
            "renamed": "UPDATE wt_string SET string = 'x' || string WHERE id IN"
                       " (SELECT name_id FROM wt_symbol)",
            "grid": "UPDATE wt_shape SET grid_x = grid_x + 64 WHERE kind = 1",
            "block": "UPDATE wt_shape SET block_y = 7 WHERE kind = 1",
            "segment": "UPDATE wt_shape SET group_bytes = 3 WHERE kind = 1",
            "no times": f"UPDATE wt_op SET start = NULL, duration = NULL WHERE id = {row}",
            "another process": "UPDATE wt_process SET pid = pid + 1",
            "another device": "UPDATE wt_device SET node = node + 1",
            "another queue": "UPDATE wt_queue SET hsa_id = hsa_id + 1000",
            "a copy's size": "UPDATE wt_copy SET bytes = bytes + 1 WHERE bytes IS NOT NULL",
        }
        for name, statement in wrong.items():
            with self.subTest(name):
                path = self.path("mutant.db")
                shutil.copy(trace.path, path)
                with sqlite3.connect(path) as db:
                    self.assertTrue(db.execute(statement).rowcount, f"nothing to change: {name}")
                db.close()
                mutant = oracle.Trace(path)
                try:
                    self.assertTrue(oracle.compare(log, mutant), f"not noticed: {name}")
                finally:
                    mutant.close()
                    path.unlink()


if __name__ == "__main__":
    unittest.main()
