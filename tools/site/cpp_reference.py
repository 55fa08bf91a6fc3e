"""The reference of C++: what Doxygen reads out of the headers, in place of links to them.

A paragraph of a page that is nothing but a link like [`laneway::options`](../../include/laneway/base/options.hpp)
becomes the documentation of that type, function or enumeration. A name that the header does not have is a warning, and
so an error where the site is built with --strict. Without Doxygen the links stay, and the build says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
UNPACKED = ROOT / "build" / "deps" / "usr"
PLACE = re.compile(r"^\[`(laneway::[\w:~]+)`\]\(([^)]+\.hpp)\)$", re.MULTILINE)
SETTINGS = """
INPUT = include/laneway
RECURSIVE = YES
FILE_PATTERNS = *.hpp
OUTPUT_DIRECTORY = {folder}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
AUTOLINK_SUPPORT = NO
MARKDOWN_SUPPORT = YES
EXTRACT_ALL = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = LANEWAY_FN= LANEWAY_SLOW= LANEWAY_STRICT_BEGIN= LANEWAY_STRICT_END=
QUIET = YES
WARNINGS = NO
"""

log = get_plugin_logger("cpp_reference")
entities: dict[str, list[Element]] = {}
"""Classes, free functions and enumerations by their qualified names; functions may be overloaded."""


def doxygen() -> str | None:
    """Doxygen of the system, or that which tools/bootstrap.py has unpacked."""
    return shutil.which("doxygen") or shutil.which("doxygen", path=str(UNPACKED / "bin"))


def environment() -> dict[str, str]:
    """With the libraries that were unpacked for it."""
    folders = [os.environ.get("LD_LIBRARY_PATH", ""), *map(str, (UNPACKED / "lib").glob("*-linux-gnu"))]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}


def on_pre_build(config: MkDocsConfig) -> None:
    entities.clear()
    command = doxygen()
    if command is None:
        log.info("Doxygen is not installed: the reference of C++ links to the headers only")
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = SETTINGS.format(folder=folder)
        done = subprocess.run(
            [command, "-"], cwd=ROOT, env=environment(), input=settings, text=True, capture_output=True
        )
        if done.returncode:  # else it tells only of comments whose marks it does not know
            raise PluginError(f"Doxygen failed: {done.stderr}")
        for file in sorted((Path(folder) / "xml").glob("*.xml")):
            if file.name.startswith(("class", "struct", "namespace")):
                read(ElementTree.parse(file).getroot())


def read(root: Element) -> None:
    for compound in root.iter("compounddef"):
        if compound.get("kind") != "namespace":
            entities.setdefault(name_of(compound, "compoundname"), []).append(compound)
            continue
        for member in compound.iter("memberdef"):
            name = f"{name_of(compound, 'compoundname')}::{name_of(member, 'name')}"
            entities.setdefault(name, []).append(member)


def name_of(element: Element, tag: str) -> str:
    return element.findtext(tag) or ""


@event_priority(50)  # before links are rewritten
def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return PLACE.sub(lambda place: documentation(place, page), markdown) if entities else markdown


def documentation(place: re.Match[str], page: Page) -> str:
    name, header = place.groups()
    found = entities.get(name)
    if found is None:
        log.warning(f"{page.file.src_uri}: {name} is in no header")
        return place.group()
    parts = [f"Header [`{header.split('include/')[1]}`]({header})\n"]
    for entity in found:
        parts += compound(entity) if entity.tag == "compounddef" else member(entity, 0)
    return "\n".join(parts)


def compound(entity: Element) -> list[str]:
    """A class: its description, and each public member's."""
    name = name_of(entity, "compoundname").removeprefix("laneway::").split("<")[0]
    words = [template_of(entity), f"{entity.get('kind')} {name};"]
    parts = [code(words), description(entity)]
    for each in entity.iter("memberdef"):
        if each.get("prot") == "public" and each.get("kind") != "friend" and not is_plumbing(each, name):
            parts += member(each, 1)
    return parts


def is_plumbing(entity: Element, class_name: str) -> bool:
    """What a reader knows without being told: deleted functions, and those that say nothing of themselves."""
    if entity.get("kind") == "function" and "=delete" in (entity.findtext("argsstring") or "").replace(" ", ""):
        return True
    return name_of(entity, "name").startswith("~")


def member(entity: Element, depth: int) -> list[str]:
    block = code(declaration(entity))
    text = description(entity)
    if depth == 0:
        return [block, text]
    heading = f'<h4 class="member"><code>{name_of(entity, "name").replace("<", "&lt;")}</code></h4>\n'
    return [heading, block, text]


def declaration(entity: Element) -> list[str]:
    kind, name = entity.get("kind"), name_of(entity, "name")
    result = type_of(entity.find("type"))
    if kind == "enum":
        values = "".join(f"    {name_of(value, 'name')},{comment_of(value)}\n" for value in entity.iter("enumvalue"))
        return [f"enum class {name} {{\n{values}}};"]
    if kind == "typedef":
        return [template_of(entity), f"using {name} = {result};"]
    if kind == "variable":
        value = text_of(entity.find("initializer"))
        return [template_of(entity), f"{result} {name}{' ' + value if value else ''};".strip()]
    listed = [argument_of(each) for each in entity.findall("param")]
    on_one_line = ", ".join(listed)
    arguments = on_one_line if len(on_one_line) <= 90 else "".join(f"\n        {each}," for each in listed).rstrip(",")
    marks = [word for word in ("static", "explicit") if entity.get(word) == "yes"]
    after = " const" if entity.get("const") == "yes" else ""
    words = " ".join([*marks, result.replace("constexpr ", "")]).strip()
    return [template_of(entity), f"{words} {name}({arguments}){after};".strip()]


def argument_of(entity: Element) -> str:
    value = text_of(entity.find("defval"))
    parts = [type_of(entity.find("type")), name_of(entity, "declname") or name_of(entity, "defname")]
    return " ".join(part for part in parts if part) + (f" = {value}" if value else "")


def template_of(entity: Element) -> str:
    parameters = entity.find("templateparamlist")
    if parameters is None:
        return ""
    requires = text_of(entity.find("requiresclause"))
    inner = ", ".join(argument_of(each) for each in parameters.findall("param"))
    return f"template <{inner}>" + (f"\nrequires {requires}" if requires else "")


def comment_of(entity: Element) -> str:
    words = text_of(entity.find("briefdescription")) or text_of(entity.find("detaileddescription"))
    return f"  // {words}" if words else ""


def text_of(entity: Element | None) -> str:
    return " ".join("".join(entity.itertext()).split()) if entity is not None else ""


def type_of(entity: Element | None) -> str:
    """A type without the blanks that Doxygen puts around its marks: `const symmetric_ptr<T>&`."""
    return re.sub(r" ([&*]+)", r"\1", re.sub(r"< | >", lambda mark: mark.group().strip(), text_of(entity)))


def code(lines: Iterable[str]) -> str:
    body = "\n".join(line for line in lines if line)
    return f"```cpp\n{body}\n```\n"


def description(entity: Element) -> str:
    paragraphs: list[str] = []
    for tag in ("briefdescription", "detaileddescription"):
        part = entity.find(tag)
        if part is not None:
            paragraphs += markdown_of(part)
    return "\n\n".join(paragraphs) + "\n"


def markdown_of(part: Element) -> Iterator[str]:
    """Paragraphs of a description."""
    for para in part.iter("para"):
        text = inline(para).strip()
        if text:
            yield " ".join(text.split()) if "```" not in text else text


def inline(entity: Element) -> str:
    text = escaped(entity.text)
    for each in entity:
        if each.tag == "computeroutput":
            text += f"`{text_of(each)}`"
        elif each.tag in ("verbatim", "programlisting", "preformatted"):
            text += f"\n\n```cpp\n{''.join(each.itertext()).strip()}\n```\n\n"
        elif each.tag in ("itemizedlist", "orderedlist"):
            text += ""  # its paragraphs are visited by themselves
        elif each.tag in ("emphasis", "bold"):
            text += f"*{text_of(each)}*"
        elif each.tag not in ("simplesect", "parameterlist"):
            text += inline(each)
        text += escaped(each.tail)
    return text


def escaped(text: str | None) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([\\`*_\[\]])", r"\\\1", text or "").replace("<", "&lt;")
