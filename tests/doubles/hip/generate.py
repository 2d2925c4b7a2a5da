# SPDX-License-Identifier: MIT
"""Writes a double of libamdhip64, and routines that call each of its functions, from HIP's headers.

    generate.py CLANG INCLUDE LIBRARY OUT

OUT/double.c     the functions of the double
OUT/double.map   their versions, as the library has them
OUT/calls.c      for each a routine that calls it, and what its parameters are like
OUT/double.json  what was found
"""
import json
import pathlib
import sys

import headers

# They do not hand on what the runtime was told, and what that means is known.
LAST_ERROR = {"hipGetLastError": "ECHO_TAKE", "hipExtGetLastError": "ECHO_TAKE",
              "hipPeekAtLastError": "ECHO_PEEK"}
ERRORS = {"hipError_t": "CALL_ERROR", "hiprtcResult": "CALL_RESULT"}
RESOLVES = "hipGetProcAddress"
BEHIND = 64  # words behind a table
TABLES = {"HipDispatchTable": "hip", "HipCompilerDispatchTable": "hip_compiler"}
HEAD = """// SPDX-License-Identifier: MIT
/* Written by generate.py. */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#include <hip/hip_version.h>
#include <string.h>
"""


def head(own):
    return HEAD + "".join(f"#if __has_include(<{h}>)\n#include <{h}>\n#endif\n"
                          for h in headers.IN_PLAIN_C) + f'#include "{own}"\n'


def parameters(function):
    return ", ".join(f"{p.c} a{i}" for i, p in enumerate(function.params)) or "void"


def arguments(function):
    return ", ".join(f"a{i}" for i in range(len(function.params)))


def pointer(function):
    return f"{function.ret.c} (*)({', '.join(p.c for p in function.params) or 'void'})"


def own(number, f):
    """What a table's member points to: keeps the arguments, returns what it was told to."""
    lines = [f"static {f.ret.c} own_{number}({parameters(f)})", "{",
             f'\tstruct echo *echo = echo__begin("{f.name}");']
    void = f.ret.kind == "void"
    kind = LAST_ERROR.get(f.name, "ECHO_ERROR" if f.ret.c == "hipError_t" else "ECHO_VALUE")
    if not void:
        lines.append(f"\t{f.ret.c} ret;")
    lines += [f"\techo__put(echo, &a{i}, sizeof(a{i}));" for i in range(len(f.params))]
    if f.name == RESOLVES:
        lines += ["\tif (echo->resolves)", "\t\treturn (hipError_t)echo__resolve(a0, a1);"]
    lines.append(f"\techo__end(echo, {'NULL, 0' if void else '&ret, sizeof(ret)'}, {kind});")
    return lines + ([] if void else ["\treturn ret;"]) + ["}"]


def exported(number, f):
    result = "" if f.ret.kind == "void" else "return "
    return [f"EXPORTED {f.ret.c} exported_{number}({parameters(f)}) __asm__(\"{f.symbol}\");",
            f"EXPORTED {f.ret.c} exported_{number}({parameters(f)})", "{",
            f"\t{result}(({pointer(f)})echo__entry({number}))({arguments(f)});", "}"]


def double_c(functions, tables):
    lines = [head("echo.h"), '#define EXPORTED __attribute__((visibility("default")))', ""]
    members = {name: (t, m) for t, names in enumerate(tables.values()) for m, name in enumerate(names)}
    first = {}
    rows = []
    for number, f in enumerate(functions):
        if f.name not in first:
            first[f.name] = number
            lines += own(number, f)
        if f.symbol:
            lines += exported(number, f)
        table, member = members.get(f.name, (-1, -1))
        symbol = f'"{f.symbol}", (void *)exported_{number}' if f.symbol else "NULL, NULL"
        rows.append(f"\t{{{symbol}, (void *)own_{first[f.name]}, {table}, {member}}},")
    lines += ["", "const struct echo_function echo_functions[] = {"] + rows + ["};",
              f"const unsigned int echo_function_cnt = {len(functions)};", ""]
    lines += [f"static size_t table_{t}[{1 + len(names) + BEHIND}];" for t, names in enumerate(tables.values())]
    lines.append("struct echo_table echo_tables[] = {")
    for t, (name, names) in enumerate(tables.items()):
        lines.append(f'\t{{"{name}", HIP_VERSION_MAJOR * 10000 + HIP_VERSION_MINOR * 100, '
                     f"{len(names)}, table_{t}, {1 + len(names) + BEHIND}}},")
    lines += ["\t{NULL, 0, 0, NULL, 0},", "};",
              f"const unsigned int echo_table_cnt = {len(tables)};", ""]
    return "\n".join(lines)


def double_map(functions, library):
    lines, before = ["/* Written by generate.py. */"], ""
    for version in library.versions:
        symbols = [f.symbol for f in functions if f.symbol and f.version == version]
        lines += [f"{version} {{", *(["\tglobal:"] if symbols else []),
                  *[f"\t\t{symbol};" for symbol in symbols]]
        if not before:
            lines.append("\tlocal: *;")
        lines.append(f"}}{before};")
        before = f" {version}"
    lines += ["HIP_DOUBLE {", "\tglobal:", "\t\thip_double__*;", "\t\trocprofiler_register_import_*;",
              f"}}{before};", ""]
    return "\n".join(lines)


def calls_c(functions):
    lines = [head("call.h")]
    rows = []
    functions = [f for f in functions if f.symbol]
    for number, f in enumerate(functions):
        lines.append("#ifdef LINKED")
        lines.append(f"extern {f.ret.c} linked_{number}({parameters(f)}) __asm__(\"{f.symbol}\");")
        lines.append("#endif")
        void = f.ret.kind == "void"
        used = "" if f.params else "\t(void)arguments;\n"
        lines += [f"static void call_{number}(void *function, const unsigned char *arguments, void *result)",
                  "{"]
        lines += [f"\t{p.c} a{i};" for i, p in enumerate(f.params)]
        if not void:
            lines.append(f"\t{f.ret.c} ret;")
        lines.append(used)
        for i in range(len(f.params)):
            lines.append(f"\tmemcpy(&a{i}, arguments, sizeof(a{i}));")
            lines.append(f"\targuments += sizeof(a{i});" if i + 1 < len(f.params) else "")
        lines.append(f"\t{'' if void else 'ret = '}(({pointer(f)})function)({arguments(f)});")
        lines.append("\t(void)result;" if void else "\tmemcpy(result, &ret, sizeof(ret));")
        lines.append("}")
        if f.params:
            each = ", ".join(f"{{CALL_{p.kind.upper()}, sizeof({p.c})}}" for p in f.params)
            lines.append(f"static const struct call_parameter parameters_{number}[] = {{{each}}};")
        ret = "CALL_NONE" if void else "CALL_LAST_ERROR" if f.name in LAST_ERROR else \
            ERRORS.get(f.ret.c) or f"CALL_{f.ret.kind.upper()}"
        rows.append(f'\t{{"{f.name}", "{f.symbol}", "{f.version}", call_{number}, '
                    f"LINKED_TO({number}), "
                    f"{f'parameters_{number}' if f.params else 'NULL'}, {len(f.params)}, "
                    f"{ret}, {0 if void else f'sizeof({f.ret.c})'}}},")
    lines += ["", "#ifdef LINKED", "#define LINKED_TO(n) (void *)linked_##n", "#else",
              "#define LINKED_TO(n) NULL", "#endif", "const struct call_function call_functions[] = {",
              *rows, "};", f"const unsigned int call_function_cnt = {len(functions)};", ""]
    return "\n".join(lines)


def main():
    clang, include, path, out = sys.argv[1:]
    out = pathlib.Path(out)
    known, library = headers.Headers(clang, include), headers.Library(path)
    tables = {TABLES[name]: members for name, members in known.tables.items() if name in TABLES}
    functions, unknown = [], []
    for symbol, version in sorted(library.hip_symbols().items()):
        f = known.function(symbol)
        if f:
            functions.append(headers.Function(f.name, symbol, f.ret, f.params))
            functions[-1].version = version
        else:
            unknown.append(symbol)
    for members in tables.values():
        for name in members:
            if name not in {f.name for f in functions}:
                f = known.pointers[name]
                functions.append(headers.Function(name, None, f.ret, f.params))
    (out / "double.c").write_text(double_c(functions, {n: tables[n] for n in TABLES.values() if n in tables}))
    (out / "double.map").write_text(double_map(functions, library))
    (out / "calls.c").write_text(calls_c(functions))
    exported_names = {f.symbol for f in functions}
    (out / "double.json").write_text(json.dumps({
        "library": str(library.path.resolve()),
        "soname": library.soname,
        "functions": {f.symbol: {"name": f.name, "version": f.version, "returns": f.ret.spelled,
                                 "parameters": [p.spelled for p in f.params]}
                      for f in functions if f.symbol},
        "unknown": unknown,  # exported, and nobody says what they are like
        "not_exported": sorted(s for s, f in known.functions.items()
                               if s not in exported_names and f.name.startswith(("hip", "__hip"))),
        "contradictions": known.contradictions(),
        "tables": tables,
    }, indent=1))


if __name__ == "__main__":
    main()
