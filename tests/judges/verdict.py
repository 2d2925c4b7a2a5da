# SPDX-License-Identifier: MIT
"""What a program's end and its words say, and whether that was expected."""
import fnmatch
import pathlib
import re

PASSED = "passed"
RESULT = "result"    # a check failed; nothing says that a call was refused
REFUSED = "refused"  # a check failed because a call did
CRASH = "crash"      # a signal ended it
HANG = "hang"        # the limit ended it
CUT = "cut"          # it ended as if all were well, but before its verdict
SKIPPED = "skipped"  # by itself
DIFFERS = "differs"  # the trace is not what the log says
CLASSES = (PASSED, RESULT, REFUSED, CRASH, HANG, CUT, SKIPPED, DIFFERS)


def gtest_counts(text):
    """passed, failed, skipped; None where the program came to no end."""
    def count(word):
        found = re.findall(rf"\[ +{word} +\] (\d+) tests?", text)
        return int(found[-1]) if found else None
    passed = count("PASSED")
    return None if passed is None else (passed, count("FAILED") or 0, count("SKIPPED") or 0)


def of_gtest(code, text, refused, crashed="$^"):
    """code: exit code, negative for a signal, None for the limit. crashed: a child of it did."""
    if code is None:
        return HANG
    if code < 0 or re.search(crashed, text):
        return CRASH
    counts = gtest_counts(text)
    if counts is None and (code == 0 or ": Failure" not in text):
        return CUT
    passed, failed, skipped = counts or (0, 1, 0)
    if not code and not failed and passed + skipped:
        return SKIPPED if passed == skipped or not passed else PASSED
    return REFUSED if re.search(refused, text) else RESULT


def of_command(code, text, want, refused, codes=(0,)):
    """want: what it prints when all is well; codes: how it then exits."""
    if code is None:
        return HANG
    if code < 0:
        return CRASH
    if code in codes and re.search(want, text):
        return PASSED
    if re.search(refused, text):
        return REFUSED
    return RESULT if code else CUT


def expected_of(suite, generation):
    """suite: a row of suites.py"""
    folder = pathlib.Path(__file__).resolve().parent / "expected"
    return Expected(folder / f"{suite.expected or suite.name}.txt", generation)


class Expected:
    """Lines `TEST CLASS REASON`; TEST is a glob, or GENERATION:glob. The first that fits counts.

    CLASS is one, or several with | between them where chance decides.

    What no line names has to pass. Each line has to fit something: what has changed is taken out.
    """

    def __init__(self, path, generation):
        self.path, self.rows = path, []
        text = path.read_text() if path.exists() else ""
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split(None, 2)
            if len(fields) < 3 or not set(fields[1].split("|")) <= set(CLASSES):
                raise ValueError(f"{path}:{number}: want TEST CLASS REASON, CLASS one of "
                                 f"{' '.join(CLASSES)}: {line}")
            test, verdict, reason = fields
            where, _, glob = test.rpartition(":") if re.match(r"\d+\.\d+\.\d+:", test) else ("", "", test)
            if not where or where == generation:
                self.rows.append([number, glob, verdict, reason, 0])

    def of(self, test):
        """class, reason"""
        for row in self.rows:
            if fnmatch.fnmatchcase(test, row[1]):
                row[4] += 1
                return row[2], row[3]
        return PASSED, ""

    def check(self, test, found):
        """The reason, and what is wrong: one of the two at most."""
        want, reason = self.of(test)
        if found in want.split("|"):
            return reason, ""
        return "", f"{test}: {found}, expected {want}"

    def unused(self):
        return [f"{self.path.name}:{row[0]}: fits no test: {row[1]}" for row in self.rows if not row[4]]
