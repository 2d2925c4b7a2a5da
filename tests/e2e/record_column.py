# SPDX-License-Identifier: MIT
"""What a trace must say of a call's arguments: the record column of src/core/hip_api.def, worked out anew.

The column holds C expressions of the parameters. Those that read a structure are left alone.
"""
import pathlib
import re
import types

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"
ALL = (1 << 64) - 1
CASTS = re.compile(r"\((?:unsigned int|unsigned|uint32_t|int|uint64_t|size_t)\)")


def split(text):
    """At the commas that no bracket holds."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def table():
    """By name: the parameters' names, and the record column as its name and its expressions."""
    text = re.sub(r"/\*.*?\*/", "", (SRC / "core/hip_api.def").read_text(), flags=re.S)
    out = {}
    for row in re.split(r"^(?=HIP(?:_VALUE|_VOID)?\()", text, flags=re.M)[1:]:
        macro, fields = row.strip().split("(", 1)
        fields = split(fields.rsplit(")", 1)[0])
        name, _, _, names, _, record = fields[1:] if macro == "HIP_VALUE" else fields
        kind, _, inner = record.partition("(")
        out[name] = split(names[1:-1]), kind, split(inner[:-1]) if inner else []
    return out


def constants():
    text = (SRC / "core/record.h").read_text()
    return {name: int(value) for name, value in re.findall(r"\b(WT_\w+) = (\d+)", text)}


class Argument:
    """As the program passed it."""

    def __init__(self, text):
        data, _, word = text.partition("@")
        raw = bytes.fromhex(data)
        self.bytes = len(raw)
        self.value = int.from_bytes(raw, "little")
        self.word = int(word, 16) if word else None
        if self.bytes == 12:  # dim3
            self.value = types.SimpleNamespace(**{
                c: int.from_bytes(raw[4 * i:4 * i + 4], "little") for i, c in enumerate("xyz")})


class Unknown(Exception):
    """An expression that is not worked out here."""


def may_be(value, size):
    """A number of `size` bytes, made 64 bits long with or without its sign."""
    value &= (1 << 8 * size) - 1
    return {value, value | ALL & ~((1 << 8 * size) - 1) if value >> 8 * size - 1 else value}


def expected(expression, arguments, ret, known):
    """The numbers, any of which may stand in the trace."""
    out = re.fullmatch(r"OUT\((\w+)\)", expression)
    if out:
        argument = arguments[out.group(1)]
        if ret or not argument.value:
            return {0}
        if argument.word is None:
            raise Unknown
        # how much of it the function writes is not told here
        return set().union(*(may_be(argument.word, size) for size in (1, 2, 4, 8)))
    if expression in arguments:
        argument = arguments[expression]
        if not isinstance(argument.value, int) or argument.bytes > 8:
            raise Unknown
        return may_be(argument.value, argument.bytes)
    if re.search(r"->|\?|[a-z]\(|&&|OUT|FIELD|\[", expression):
        raise Unknown
    scope = {name: argument.value for name, argument in arguments.items()} | known | {"NULL": 0}
    try:
        value = eval(CASTS.sub("", expression), {"__builtins__": {}}, scope)  # numbers alone
    except (AttributeError, TypeError, NameError, SyntaxError) as error:
        raise Unknown from error
    return {value & ALL, value & 0xffffffff}


class Arguments:
    """Compares a trace's arguments of calls with what the program says."""

    LAUNCH = ("SELECT l.function, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,"
              " l.shared_bytes FROM wt_api a JOIN wt_launch l ON l.id = a.launch_id WHERE a.id = ?")
    COPY = "SELECT dst, src, bytes, kind FROM wt_api_copy WHERE id = ?"
    SHORT = {"LAUNCH": range(1, 8), "COPY": range(3, 4)}  # columns of 32 bits
    ARGS = "SELECT a0, a1, a2, a3, a4, a5 FROM wt_api_args WHERE id = ?"

    def __init__(self, trace):
        self.trace, self.table, self.known = trace, table(), constants() | {"WT_UNKNOWN": ALL}
        self.compared = self.not_compared = 0
        self.problems = []

    def compare(self, call, id_):
        """`call`: name, return code, arguments' texts."""
        name, ret, texts = call
        names, kind, expressions = self.table[name]
        query = getattr(self, kind, None)
        if not query or len(texts) != len(list(filter(None, names))):
            self.not_compared += kind != "PLAIN"
            return
        rows = self.trace.rows(query, id_)
        if len(rows) != 1:
            self.problems.append(f"{name}: {len(rows)} rows of arguments in the trace")
            return
        # NULL where they were not known, and where a launch has none
        absent = {ALL, *({0} if kind == "LAUNCH" else {self.known["WT_COPY_UNKNOWN"]})}
        arguments = dict(zip(names, map(Argument, texts)))
        for column, (expression, value) in enumerate(zip(expressions, rows[0])):
            try:
                may = expected(expression, arguments, ret, self.known)
            except Unknown:
                self.not_compared += 1
                continue
            self.compared += 1
            if column in self.SHORT.get(kind, ()):
                may = {number & 0xffffffff for number in may}
            if not (may & absent if value is None else value & ALL in may):
                self.problems.append(
                    f"{name}: {expression} is {value} in the trace and should be "
                    f"{' or '.join(map(str, sorted(may)))}; arguments {' '.join(texts)}")
