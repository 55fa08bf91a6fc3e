"""Pages of the site that lie outside docs/, and links that lead out of it.

Every link in the Markdown is relative to the file that it stands in, so that it works where the repository is read. The
site has some of these files under other addresses, and no folder listings; so links are rewritten here while it is
built. Sources that a page links to become pages of the site themselves.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]

PROGRAMS = (
    "all_reduce",
    "bfs",
    "cc",
    "cdlp",
    "color",
    "filter",
    "gups",
    "indegree",
    "jacobi",
    "kmeans",
    "kmer",
    "md",
    "pagerank",
    "ping_pong",
    "recursion",
    "sssp",
    "training",
    "triangles",
)
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture/index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "data/README.md": "data.md",
    "styles/README.md": "study/styles.md",
    "bench/peers/README.md": "peers.md",
    "apps/triangles/lcc.md": "programs/lcc.md",
    **{f"apps/{name}/README.md": f"programs/{name}.md" for name in PROGRAMS},
}
"""Where the site has what lies outside docs/."""

LANGUAGES = {
    ".h": "c",
    ".c": "c",
    ".cpp": "cpp",
    ".cu": "cpp",
    ".cuh": "cpp",
    ".hpp": "cpp",
    ".py": "python",
    ".cmake": "cmake",
    ".json": "text",
    ".toml": "toml",
    "": "text",
}
FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def prose(markdown: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is prose: a lambda in code looks like a link."""
    end = 0
    for block in FENCED.finditer(markdown):
        yield markdown[end : block.start()], True
        yield block.group(), False
        end = block.end()
    yield markdown[end:], True


def repository_path(uri: str) -> str:
    """The file that a page is made of, from the root of the repository."""
    return next((source for source, known in OUTSIDE.items() if known == uri), f"docs/{uri}")


def target_of(source: str, link: str) -> str | None:
    """What a link in `source` leads to, from the root of the repository; None where it leaves it."""
    if "://" in link or link.startswith(("mailto:", "/")):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def address_of(target: str) -> str:
    """The page or file of the site for a file or folder of the repository."""
    if (ROOT / target / "README.md").is_file():
        target = posixpath.join(target, "README.md")
    if target in OUTSIDE:
        return OUTSIDE[target]
    if target.startswith("docs/"):
        return posixpath.join(target.removeprefix("docs/"), "index.md" if (ROOT / target).is_dir() else "").rstrip("/")
    return f"source/{target}.md"


def links_of(source: str) -> Iterator[str]:
    """Everything in the repository that a page links to."""
    for text, is_prose in prose((ROOT / source).read_text()):
        for link in LINK.finditer(text) if is_prose else ():
            target = target_of(source, link.group(2))
            if target is not None and (ROOT / target).exists():
                yield target


def source_page(target: str) -> str:
    """A file as a page, a folder as a list of its files."""
    head = f"---\ntitle: {target}\nsearch:\n  exclude: true\n---\n\n# `{target}`\n\n"
    path = ROOT / target
    if path.is_dir():
        return head + "".join(f"- [`{each.name}`]({path.name}/{each.name}.md)\n" for each in files_in(path))
    text = path.read_text().rstrip()
    return f"{head}~~~~~~ {LANGUAGES[path.suffix]}\n{text}\n~~~~~~\n"


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in LANGUAGES)


def linked_sources(pages: list[str]) -> set[str]:
    """What pages link to and the site does not have otherwise."""
    found: set[str] = set()
    for target in {link for page in pages for link in links_of(page)}:
        if not address_of(target).startswith("source/"):
            continue
        found.add(target)
        if (ROOT / target).is_dir():
            found |= {path.relative_to(ROOT).as_posix() for path in files_in(ROOT / target)}
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / source)))
    pages = [repository_path(page.src_uri) for page in files.documentation_pages()]
    for target in sorted(linked_sources(pages)):
        files.append(File.generated(config, address_of(target), content=source_page(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    uri = page.file.src_uri
    if uri.startswith("source/"):
        return markdown
    source = repository_path(uri)

    def rewritten(link: re.Match[str]) -> str:
        target = target_of(source, link.group(2))
        if target is None or not (ROOT / target).exists():
            return link.group()  # what leads nowhere is told by the check of links
        return link.group(1) + posixpath.relpath(address_of(target), posixpath.dirname(uri) or ".") + link.group(3)

    return "".join(LINK.sub(rewritten, text) if is_prose else text for text, is_prose in prose(markdown))
