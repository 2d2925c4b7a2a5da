# SPDX-License-Identifier: MIT
"""Which functions HIP's installed headers declare, and which ones libamdhip64 exports.

clang reads the headers as C++ and tells its syntax tree, so that a function's symbol is known however it
is declared. Nothing here knows wavetap's own table.
"""
import json
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# each where it is installed
HEADERS = ["hip/hip_runtime.h", "hip/hip_runtime_api.h", "hip/hip_ext.h", "hip/hiprtc.h",
           "hip/hip_deprecated.h", "hip/hip_gl_interop.h", "hip/amd_detail/hip_api_trace.hpp"]
IN_C = ["hip/amd_detail/hip_runtime_prof.h"]  # lacks extern "C"
# those that C understands
IN_PLAIN_C = ["hip/hip_runtime_api.h", "hip/hiprtc.h", "hip/hip_gl_interop.h"]

BUILTIN = {"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int",
           "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "float",
           "double"}
SUGAR = {"TypedefType", "ElaboratedType", "QualType", "ParenType", "DecayedType", "AdjustedType",
         "MacroQualifiedType", "UsingType"}


class Type:
    """A parameter's or a return's type, as the ABI sees it."""

    def __init__(self, spelled, desugared):
        self.spelled = spelled
        plain = re.sub(r"\b(const|volatile|struct|enum)\b\s*", "", desugared).strip()
        plain = plain.removesuffix(" *const").strip()
        pointee = plain[:-1].strip() if plain.endswith("*") else None
        if plain == "void":
            self.kind, self.c = "void", "void"
        elif plain.endswith("&"):
            raise ValueError(f"a reference: {spelled}")
        elif "(*" in plain or (pointee is not None and
                               (pointee == "void" or not spelled.rstrip().endswith("*"))):
            # callbacks, handles, memory of the GPU's: nobody but the runtime may look behind it
            self.kind, self.c = "address", "void *"
        elif pointee is not None:
            self.kind, self.c = "pointer", "void *"
        elif plain in BUILTIN:
            self.kind = "bool" if plain == "bool" else "bits"
            self.c = "_Bool" if plain == "bool" else plain
        else:
            self.kind = "bits"
            self.c = re.sub(r"\bconst\b\s*", "", spelled).strip()

    def __eq__(self, other):
        return (self.kind == "pointer" or self.kind == "address") == \
            (other.kind == "pointer" or other.kind == "address") and \
            (self.c == other.c or "enum" in self.c + other.c or "struct" in self.c + other.c)


class Function:
    """`name` as the headers say it; `symbol` as the library does."""

    def __init__(self, name, symbol, ret, params):
        self.name, self.symbol, self.ret, self.params = name, symbol, ret, params
        self.version = None

    def same(self, other):
        return len(self.params) == len(other.params) and self.ret == other.ret and \
            all(a == b for a, b in zip(self.params, other.params))

    def __str__(self):
        return f"{self.ret.spelled} {self.name}({', '.join(p.spelled for p in self.params)})"


def nodes(text):
    """clang writes one JSON text for each declaration that the filter lets pass."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        node, at = decoder.raw_decode(text, at)
        yield node


def plain_type(text):
    """By its name alone: enough for what functions return."""
    text = text.strip()
    known = {"size_t": "unsigned long", "uint32_t": "unsigned int"}
    return Type(text, known.get(text, text))


def type_of_node(node):
    spelled = node["type"]["qualType"]
    while node["kind"] in SUGAR and node.get("inner"):
        node = node["inner"][-1]
    return Type(spelled, node["type"]["qualType"])


def declared(node):
    params = [Type(p["type"]["qualType"], p["type"].get("desugaredQualType", p["type"]["qualType"]))
              for p in node.get("inner", []) if p["kind"] == "ParmVarDecl"]
    return Function(re.sub(r"_before\d+$", "", node["name"]), node["mangledName"],
                    plain_type(node["type"]["qualType"].split("(")[0]), params)


def pointed_to(name, node):
    """From `typedef R (*t_NAME)(…)`."""
    while node["kind"] != "FunctionProtoType":
        node = node["inner"][0]
    ret, *params = node["inner"]
    return Function(name, name, type_of_node(ret), [type_of_node(p) for p in params])


class Headers:
    def __init__(self, clang, include):
        self.include = pathlib.Path(include)
        self.functions = {}  # by symbol
        self.pointers = {}  # of the dispatch tables, by name
        self.tables = {}  # their members' names, in order
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "headers.cpp")
            source.write_text(self.source())
            for node in nodes(self.tree(clang, source, "hip")):
                if node["kind"] == "FunctionDecl" and "mangledName" in node:
                    if not self.inline(node):
                        self.functions.setdefault(node["mangledName"], declared(node))
                elif node["kind"] == "TypedefDecl" and node["name"].startswith("t_"):
                    name = node["name"][2:]
                    self.pointers[name] = pointed_to(name, node)
            for node in nodes(self.tree(clang, source, "DispatchTable")):
                if node["kind"] == "CXXRecordDecl" and node.get("completeDefinition"):
                    self.tables[node["name"]] = [m["name"].removesuffix("_fn")
                                                 for m in node["inner"] if m["kind"] == "FieldDecl"][1:]

    @staticmethod
    def inline(node):
        return node.get("inline") or node.get("storageClass") == "static" or \
            any(part["kind"] == "CompoundStmt" for part in node.get("inner", []))

    def source(self):
        lines = ["#define __HIP_PLATFORM_AMD__ 1", "#define __HIP_PLATFORM_HCC__ 1",
                 "#include <stdint.h>", "#include <stddef.h>"]
        lines += [f"#include <{h}>" for h in HEADERS if (self.include / h).exists()]
        lines += ['extern "C" {'] + [f"#include <{h}>" for h in IN_C if (self.include / h).exists()]
        return "\n".join(lines + [f'#include "{HERE}/undeclared.h"', "}", ""])

    def tree(self, clang, source, name):
        command = [clang, "-x", "c++", "-std=c++17", "-w", f"-I{self.include}", "-fsyntax-only", "-Xclang",
                   "-ast-dump=json", "-Xclang", f"-ast-dump-filter={name}", source]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def function(self, symbol):
        """None: nobody declares it."""
        return self.functions.get(symbol) or self.pointers.get(symbol)

    def contradictions(self):
        """What a table's member is declared as, and its function otherwise."""
        return [f"{self.functions[name]}; {pointer}" for name, pointer in self.pointers.items()
                if name in self.functions and not self.functions[name].same(pointer)]


class Library:
    """What it exports."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        text = self.readelf("-d")
        self.soname = re.search(r"\(SONAME\).*\[(.*)\]", text).group(1)
        self.versions = re.findall(r"Rev: \d+ +Flags: none .*Name: (\S+)", self.readelf("-V"))
        self.symbols = {}  # their versions
        for line in self.readelf("--dyn-syms").splitlines():
            fields = line.split()
            if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] != "UND":
                name, _, version = fields[7].partition("@@")
                self.symbols[name.split("@")[0]] = version

    def readelf(self, option):
        return subprocess.run(["readelf", "-W", option, self.path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def hip_symbols(self):
        """HIP's own: all but the compiler's helpers and the debugger's that come along."""
        return {s: v for s, v in self.symbols.items()
                if re.match(r"(__)?hip", s) or re.match(r"_Z.*hip", s)}
