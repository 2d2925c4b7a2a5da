# SPDX-License-Identifier: MIT
"""symbols.py LIBRARY LIST [--write]: what the library exports is what the list says."""
import subprocess
import sys


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                         capture_output=True, text=True, check=True).stdout
    return sorted({line.split()[0] for line in out.splitlines() if line.strip()})


def main():
    library, listed = sys.argv[1], sys.argv[2]
    have = exported(library)
    if "--write" in sys.argv:
        with open(listed, "w") as out:
            out.write("# SPDX-License-Identifier: MIT\n")
            out.write("\n".join(have) + "\n")
        return 0
    with open(listed) as lines:
        want = sorted(line.strip() for line in lines if line.strip() and line[0] != "#")
    for name in sorted(set(have) - set(want)):
        print(f"{library}: exports {name}, which {listed} does not list")
    for name in sorted(set(want) - set(have)):
        print(f"{library}: does not export {name}, which {listed} lists")
    if not have:
        print(f"{library}: exports nothing")
    return 0 if have == want and have else 1


if __name__ == "__main__":
    sys.exit(main())
