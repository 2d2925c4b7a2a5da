# SPDX-License-Identifier: MIT
"""The include rule of docs/INTERNALS.md: which part of src/ may include which other part."""
import pathlib
import re
import sys

MAY = {
    "base": {"base"},
    "core": {"core", "base"},
    "capture": {"capture", "core", "base"},
    "attribute": {"attribute", "core", "base"},
    "store": {"store", "core", "base"},
    "collect": {"collect", "core", "base", "attribute", "store"},
    "export": {"export", "store", "attribute", "core", "base"},
    "import": {"import", "store", "attribute", "core", "base"},
    "analyze": {"analyze", "store", "attribute", "core", "base"},
    "cli": {"cli", "base", "core", "attribute", "store", "collect", "export", "import", "analyze"},
}
# capture runs in other people's processes: of base it may take what does not print, and off the
# record path what allocates
VENDOR = re.compile(r"^(hip/|hsa/|hsakmt|roctracer|rocprofiler|roctx|rccl|rocm)")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def problems_of(name, text, parts):
    """`name`: path below src/, `parts`: the folders of src/."""
    part = name.split("/")[0]
    source = name.split("/")[2] if name.startswith("capture/sources/") and name.count("/") > 2 else None
    for kind, target in INCLUDE.findall(text):
        if VENDOR.match(target):
            yield f"includes a vendor's header: {target}"
        if kind == "<":
            continue
        where = target if "/" in target else "/".join(name.split("/")[:-1]) + "/" + target
        to = where.split("/")[0]
        if to == "wavetap":
            continue
        if to not in parts:
            # relative to an including folder, e.g. "sources/x.h" from capture/
            where = "/".join(name.split("/")[:-1]) + "/" + target
            to = where.split("/")[0]
        if to not in MAY.get(part, {part}):
            yield f"includes {target}: {part} may include only {', '.join(sorted(MAY[part]))}"
        if where.startswith("capture/sources/") and source and where.count("/") > 2:
            other = where.split("/")[2]
            if other != source:
                yield f"includes {target}: a source never includes another source"


def self_test():
    parts = set(MAY)
    assert list(problems_of("capture/a.c", '#include "store/store.h"', parts))
    assert list(problems_of("base/a.c", '#include "core/ring.h"', parts))
    assert list(problems_of("capture/sources/hip/a.c", '#include "capture/sources/hsa/b.h"', parts))
    assert list(problems_of("capture/sources/hip/a.c", '#include <hip/hip_runtime.h>', parts))
    assert not list(problems_of("capture/sources/hip/a.c", '#include "core/ring.h"', parts))
    assert not list(problems_of("collect/a.c", '#include "store/store.h"', parts))


def main():
    self_test()
    src = pathlib.Path(sys.argv[1], "src")
    parts = {path.name for path in src.iterdir() if path.is_dir()}
    failed = 0
    for part in sorted(parts - set(MAY)):
        print(f"src/{part}: not in the include rule (tests/rules/includes.py)")
        failed = 1
    seen = 0
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".c", ".h", ".def"):
            continue
        seen += 1
        for problem in problems_of(str(path.relative_to(src)), path.read_text(), parts):
            print(f"{path}: {problem}")
            failed = 1
    if not seen:
        print("no sources found")
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
