# SPDX-License-Identifier: MIT
"""Every source says its licence, stays small or says why not, and names no package registry."""
import pathlib
import re
import subprocess
import sys

SOURCE = {".c", ".h", ".cpp", ".hip", ".py", ".def", ".in", ".map", ".sh", ".cmake"}
# "long file: REASON" near its beginning explains a file of more lines than this
LINES = 800
REGISTRIES = re.compile(
    r"\b(" + "|".join([
        r"pypi\." r"org", r"pythonhosted\." r"org", r"registry\.npmjs", r"crates\." r"io",
        r"deb\.debian\." r"org", r"ftp\.debian", r"archive\.ubuntu", r"snapshot\.debian",
        r"repo\.radeon", r"proxy\.golang", r"docker\." r"io", r"ghcr\." r"io", r"quay\." r"io",
        r"conda\.anaconda",
    ]) + r")", re.I)


def files(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                           capture_output=True, check=True).stdout.decode().split("\0")
    return [pathlib.Path(root, name) for name in sorted(set(names)) if name]


def problems_of(path, text):
    head = text[:600]
    script = text.startswith("#!")
    if path.suffix in SOURCE or script or path.name in ("CMakeLists.txt", "Makefile"):
        if "SPDX-License-Identifier:" not in head:
            yield "no SPDX line at its beginning"
        lines = text.count("\n")
        if lines > LINES and "long file:" not in text[:4000]:
            yield f"{lines} lines and no 'long file: REASON' near the beginning"
    for match in REGISTRIES.finditer(text):
        yield f"names a package registry: {match.group(0)}"


def self_test():
    bad = pathlib.Path("x.c")
    assert list(problems_of(bad, "int x;\n"))
    assert list(problems_of(bad, "// SPDX-License-Identifier: MIT\n" + "\n" * 900))
    assert list(problems_of(bad, "// SPDX-License-Identifier: MIT\n// from pypi" + ".org\n"))
    assert not list(problems_of(bad, "// SPDX-License-Identifier: MIT\nint x;\n"))


def main():
    self_test()
    failed = 0
    for path in files(sys.argv[1]):
        if not path.is_file() or path.resolve() == pathlib.Path(__file__).resolve():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for problem in problems_of(path, text):
            print(f"{path}: {problem}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
