"""Which functions the text of a body defines, without a compiler: to choose one of them, and to say why none can be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from laneway.errors import TaskBodyError

_TEXT_OR_COMMENT = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"([^()\\\s]*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_FUNCTION = re.compile(r"(\w+)\s*\(\)\s*(?:noexcept\s*(?:\(\))?\s*)?(?:->[^;{}]*)?\{\}")
_REFUSED = re.compile(r"(a body (?:takes|returns) [^\n]*?)[\"'”]?\)?$", re.MULTILINE)
"""What the assertions of `body_wrapper` say."""


@dataclass(frozen=True)
class Function:
    """A definition."""

    name: str
    line: int
    is_template: bool


def functions_of(source: str) -> list[Function]:
    """Those that the source defines outside namespaces and classes, in order."""
    text = _DIRECTIVE.sub(_blank, _TEXT_OR_COMMENT.sub(_blank, source))
    outside: list[str] = []
    lines: list[int] = []
    depth, line = 0, 1
    for letter in text:  # leaves () and {} of whatever is in brackets
        if letter in ")}":
            depth -= 1
        if depth <= 0:
            outside.append(letter)
            lines.append(line)
        if letter in "({":
            depth += 1
        line += letter == "\n"
    plain = "".join(outside)
    found = []
    for match in _FUNCTION.finditer(plain):
        name, begin = match.group(1), match.start(1)
        declared = re.split(r"[;}]", plain[:begin])[-1]
        if not name.isdigit():
            found.append(Function(name, lines[begin], re.search(r"\btemplate\s*<", declared) is not None))
    return found


def _blank(match: re.Match[str]) -> str:
    """Lines stay where they are."""
    return " " + "\n" * match.group().count("\n")


def refuse_text(source: str) -> None:
    """TaskBodyError for characters and names that no body can have."""
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        raise TaskBodyError(f"the source of a body has a NUL character, in line {line}")
    code = _TEXT_OR_COMMENT.sub(_blank, source)
    reserved = re.search(r"\blaneway_\w+", code)
    if reserved is not None:
        line = code[: reserved.start()].count("\n") + 1
        raise TaskBodyError(f"{reserved.group()}, in line {line}: names that begin with laneway_ are the package's own")


def why_not_ascii(source: str) -> str | None:
    """Of a text that NVRTC does not take: which line has letters in names that it does not know."""
    for number, line in enumerate(_TEXT_OR_COMMENT.sub(_blank, source).split("\n"), 1):
        if not line.isascii():
            return f"line {number} has a name with letters that are not ASCII, which NVRTC does not know"
    return None


def last_function(source: str) -> str:
    """Name of the last function outside namespaces and classes; TaskBodyError where there is none."""
    found = functions_of(source)
    if not found:
        raise TaskBodyError("the source of a body defines no function outside namespaces and classes: give its name=")
    return found[-1].name


def why_no_body(source: str, entry: str, words: str, label: str) -> str | None:
    """Why a text whose own lines are in order has no function `entry` that can be a body, in one line; None where the
    compiler, which said `words` and calls the text `label`, complains about a line of it."""
    refused = _REFUSED.search(words)
    if refused is not None:
        return refused.group(1)
    place = rf"{re.escape(label)}(?::\d+:(?:\d+:)?|\(\d+\):)"
    if re.search(rf"^{place} (?:fatal |catastrophic )?error", words, re.MULTILINE):
        return None
    functions = functions_of(source)
    same = [function for function in functions if function.name == entry]
    for function in same:
        if function.is_template:
            return f"{entry}, in line {function.line}, is a template, and a body is a function that calls it"
    if len(same) > 1:
        places = ", ".join(str(function.line) for function in same[:-1])
        return f"{entry} is overloaded, in lines {places} and {same[-1].line}, and a body is one function"
    if "overloaded" in words:
        return f"{entry} is overloaded or a template, and a body is one function"
    if not same:
        others = ", ".join(dict.fromkeys(function.name for function in functions))
        return f"the text has no function {entry}, which name= asks for" + (f": it defines {others}" if others else "")
    return None
