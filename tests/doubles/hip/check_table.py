# SPDX-License-Identifier: MIT
"""Compares wavetap's tables of HIP functions with HIP's installed headers and library.

    check_table.py CLANG INCLUDE LIBRARY SRC

What the headers declare and what the library exports must be in the table, with types that the ABI
passes alike. Whoever changes the table sees here what the compiler cannot: it knows no HIP header.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import headers

# Not wrapped, and why.
LEFT_OUT = {
    "__hipReportDevices": "a member of HIP's table for tools: called by HIP, and by no program",
    "hipLaunchKernelGGLImpl": "C++, of a compiler that HIP 5 no longer had; it ends in hipModuleLaunchKernel",
}

TABLE = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture/sources/hip/types.h"
#define HIP(name, class, params, args, stream, record)		   hip_error table_##name params;
#define HIP_VALUE(type, name, class, params, args, stream, record) type table_##name params;
#define HIP_VOID(name, class, params, args, stream, record)	   void table_##name params;
#include "core/hip_api.def"
"""

ALIKE = """
/* integers of any kind go the same way; 1 to 4 and 6 are kinds of integers */
#define CLASS(t) (__builtin_classify_type(*(t *)0) > 6 ? __builtin_classify_type(*(t *)0) \\
		  : __builtin_classify_type(*(t *)0) == 5 ? 5 : 1)
#define ALIKE(a, b, what) _Static_assert(sizeof(a) == sizeof(b) && CLASS(a) == CLASS(b), what);
"""


def clang(path, sources, folder, text, *options):
    source = pathlib.Path(folder, "check.c")
    source.write_text(text)
    return subprocess.run([path, "-x", "c", "-std=gnu17", "-w", "-ferror-limit=0", "-fsyntax-only",
                           f"-I{sources}", *options, source], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def table(path, sources, folder):
    """wavetap's functions by name, as Function."""
    out = clang(path, sources, folder, TABLE, "-Xclang", "-ast-dump=json", "-Xclang",
                "-ast-dump-filter=table_")
    if out.returncode:
        raise SystemExit(f"the table does not compile:\n{out.stderr}")
    found = [headers.declared(node) for node in headers.nodes(out.stdout)
             if node["kind"] == "FunctionDecl"]
    return {f.name.removeprefix("table_"): f for f in found}


def mangled(sources):
    text = (pathlib.Path(sources) / "capture/sources/hip/mangled.def").read_text()
    return {symbol for _, symbol in re.findall(r"^MANGLED\((\w+), (\w+)\)", text, re.M)}


def members(sources):
    """The order of the dispatch tables' members, as wavetap has it."""
    text = (pathlib.Path(sources) / "capture/sources/hip/dispatch_table.def").read_text()
    return {table: re.findall(rf"^{macro}\((\w+)\)", text, re.M)
            for table, macro in (("HipDispatchTable", "DISPATCH"), ("HipCompilerDispatchTable", "COMPILER"))}


def compare_members(theirs, ours):
    """An older HIP has the first of them, a newer one has more."""
    for table, names in ours.items():
        for i, name in enumerate(theirs.get(table, [])):
            if i >= len(names):
                yield f"not in dispatch_table.def: {table}, member {i}: {name}"
            elif names[i] != name:
                yield f"dispatch_table.def: {table}, member {i} is {name} and not {names[i]}"


def types(theirs, ours):
    """Asserts that the two functions are called alike."""
    pairs = [("what it returns", theirs.ret, ours.ret)] if theirs.ret.kind != "void" else []
    pairs += [(f"parameter {i}", a, b) for i, (a, b) in enumerate(zip(theirs.params, ours.params))]
    for what, a, b in pairs:
        yield f'ALIKE({a.c}, {b.c}, "{theirs.name}: {what}: {a.spelled}; the table has {b.spelled}")'


def wanted(known, exports):
    """By symbol, what the headers declare, the dispatch tables have or the library exports."""
    out = {}
    for symbol in [*known.functions, *known.pointers, *exports]:
        function = known.function(symbol)
        if function and function.name.startswith(("hip", "__hip")) and function.name not in LEFT_OUT:
            out.setdefault(symbol, function)
    return out


def compare(known, exports, ours, mangled_symbols, check):
    """What is wrong, and how many types were compared. `check`: compiles assertions."""
    problems, asserts = [], []
    # of what is declared in two ways, only what the library exports counts
    disputed = {text.split("(")[0].split()[-1] for text in known.contradictions()}
    for symbol, function in sorted(wanted(known, exports).items()):
        mine = ours.get(function.name)
        if not mine:
            problems.append(f"not in the table: {function}")
        elif symbol != function.name and symbol in exports and symbol not in mangled_symbols:
            problems.append(f"not in mangled.def: {symbol}")
        elif function.name in disputed and symbol not in exports:
            continue
        elif len(mine.params) != len(function.params):
            problems.append(f"{function}: the table has {len(mine.params)} parameters")
        elif (mine.ret.kind == "void") != (function.ret.kind == "void"):
            problems.append(f"{function}: the table returns {mine.ret.spelled}")
        else:
            asserts += types(function, mine)
    return problems + check(asserts), len(asserts)


def self_test(known, exports, ours, symbols, check):
    """A table that is wrong in three ways."""
    wrong = dict(ours)
    del wrong["hipMalloc"]
    for name, params in (("hipFree", ["void *", "int"]), ("hipMemset", ["void *", "long", "size_t"]),
                         ("hipInit", ["float"]), ("hipDeviceSynchronize", ["int"])):
        wrong[name] = headers.Function(name, name, ours[name].ret,
                                       [headers.plain_type(text) for text in params])
    problems, _ = compare(known, exports, wrong, symbols, check)
    for text in ("not in the table: hipError_t hipMalloc(", "hipFree(void *): the table has 2",
                 "hipMemset: parameter 1: int; the table has long",
                 "hipInit: parameter 0: unsigned int; the table has float",
                 "hipDeviceSynchronize(): the table has 1"):
        if not any(text in problem for problem in problems):
            raise SystemExit(f"a wrong table was not noticed: {text}\n" + "\n".join(problems))
    order = {"T": ["a", "b", "c"]}
    assert not list(compare_members({"T": ["a", "b"]}, order))
    assert len(list(compare_members({"T": ["a", "c", "b", "d"]}, order))) == 3


def main():
    path, include, library, sources = sys.argv[1:]
    known, exports = headers.Headers(path, include), headers.Library(library).hip_symbols()
    with tempfile.TemporaryDirectory() as folder:
        def check(asserts):
            lines = ["#define __HIP_PLATFORM_AMD__ 1", "#define __HIP_PLATFORM_HCC__ 1"]
            lines += [f"#if __has_include(<{h}>)\n#include <{h}>\n#endif" for h in headers.IN_PLAIN_C]
            lines += ['#include "capture/sources/hip/types.h"', ALIKE, *asserts, ""]
            out = clang(path, sources, folder, "\n".join(lines), f"-I{include}")
            found = re.findall(r"error: (.*)", out.stderr)
            return found or ([out.stderr] if out.returncode else [])

        ours, symbols = table(path, sources, folder), mangled(sources)
        self_test(known, exports, ours, symbols, check)
        problems, compared = compare(known, exports, ours, symbols, check)
    problems += compare_members(known.tables, members(sources))
    for problem in problems:
        print(problem)
    print(f"{len(wanted(known, exports))} functions of HIP, {len(ours)} in the table, {compared} types and "
          f"{sum(len(known.tables.get(name, [])) for name in members(sources))} members compared, "
          f"{len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
