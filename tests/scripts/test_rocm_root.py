# SPDX-License-Identifier: MIT
"""scripts/rocm-root where something is missing or goes wrong: without a network, with a debootstrap
of its own. That whole roots are made and entered is what `make check-rocm` shows."""
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop(1))
LIMIT_S = 120


class RocmRoot(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rocm-root-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.dir.chmod(0o755)
        self.roots = self.dir / "roots"
        (self.dir / "bin").mkdir()

    def environment(self):
        return dict(os.environ, WAVETAP_ROCM_ROOTS=str(self.roots), LC_ALL="C",
                    WAVETAP_DEBIAN_MIRROR="file:///nowhere",
                    PATH=f"{self.dir}/bin:{os.environ['PATH']}")

    def start(self, *args, before=()):
        return subprocess.Popen([*before, SCRIPT, *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment(),
                                start_new_session=True)

    def run_script(self, *args, before=()):
        process = self.start(*args, before=before)
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err

    def debootstrap(self, text):
        """Stands for the real one; $target is the folder that it is to fill."""
        program = self.dir / "bin" / "debootstrap"
        program.write_text("#!/bin/bash\nfor target; do case $target in /*/.making-*) break;; esac;"
                           f" done\n{text}\n")
        program.chmod(0o755)

    def need_namespaces(self):
        made = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--propagation", "private",
                               "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True)
        if os.geteuid() or made.returncode:
            self.skipTest("no root rights or no namespaces here")
        if not pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists():
            self.skipTest("no keyring of Debian here")

    def test_usage(self):
        for args in ((), ("nonsense",), ("make",), ("make", "1.2.3"), ("run", "6.4.3"),
                     ("run", "6.4.3", "--"), ("path", "1.2.3"), ("versions",), ("remove",)):
            code, out, err = self.run_script(*args)
            self.assertEqual(code, 2, (args, err))
            self.assertEqual(out, "")
            self.assertIn("usage: rocm-root", err)
        code, out, err = self.run_script("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(str(self.roots), out)

    def test_list_and_path(self):
        code, out, _ = self.run_script("list")
        self.assertEqual((code, out.split()), (0, ["6.4.3", "7.2.4"]))
        code, out, _ = self.run_script("path", "6.4.3")
        self.assertEqual((code, out), (0, f"{self.roots}/6.4.3\n"))

    def test_none_there(self):
        (self.roots / "6.4.3" / "etc").mkdir(parents=True)  # half of one is none
        code, out, err = self.run_script("run", "6.4.3", "--", "true")
        self.assertEqual((code, out), (125, ""))
        self.assertIn("hint: scripts/rocm-root make 6.4.3", err)
        code, out, err = self.run_script("versions", "6.4.3")
        self.assertEqual((code, out), (1, ""))

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_not_root(self):
        code, _, err = self.run_script(
            "make", "6.4.3", before=("setpriv", "--reuid=65534", "--clear-groups"))
        self.assertEqual(code, 77, err)
        self.assertIn("6.4.3: not root (hint: sudo)", err)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_no_namespaces(self):
        code, _, err = self.run_script("make", "6.4.3", before=("setpriv", "--bounding-set=-all"))
        self.assertEqual(code, 77, err)
        self.assertIn("CAP_SYS_ADMIN", err)
        self.assertEqual(len(err.splitlines()), 1, err)

    def test_failed_fetch(self):
        self.need_namespaces()
        self.debootstrap('mkdir -p "$target/etc"; echo "E: no such mirror"; exit 1')
        code, _, err = self.run_script("make", "7.2.4")
        self.assertEqual(code, 77, err)
        self.assertIn("E: no such mirror", err)
        self.assertIn("Debian forky could not be fetched", err)
        self.assertEqual(sorted(p.name for p in self.roots.iterdir()), [".lock", "7.2.4.log"])

    def test_full_disk(self):
        self.need_namespaces()
        self.debootstrap('echo "tar: write: No space left on device"; exit 1')
        code, _, err = self.run_script("make", "6.4.3")
        self.assertEqual(code, 77, err)
        self.assertIn("the disk is full", err)

    def test_killed_while_making(self):
        self.need_namespaces()
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        self.debootstrap(f'mkdir -p "$target/etc"; echo >{fifo}; sleep 1000')
        process = self.start("make", "6.4.3")
        fifo.read_text()  # it is in the middle
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
        self.assertIn(".making-base-forky", [p.name for p in self.roots.iterdir()])
        code, _, err = self.run_script("run", "6.4.3", "--", "true")
        self.assertEqual(code, 125, err)
        self.debootstrap('[ -e "$target/etc" ] && echo "E: rest of another"; exit 1')
        code, _, err = self.run_script("make", "6.4.3")
        self.assertEqual(code, 77, err)
        self.assertNotIn("rest of another", err)

    def test_two_at_once(self):
        self.need_namespaces()
        self.debootstrap("echo E: mine; exit 1")
        self.roots.mkdir()
        with open(self.roots / ".lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            process = self.start("make", "6.4.3")
            self.assertIn("waiting for another process", process.stderr.readline())
            self.assertIsNone(process.poll())
        _, err = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 77)
        self.assertIn("E: mine", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
