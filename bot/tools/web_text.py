"""The text of a web page. Run as a program: a page can be made so that its tree takes minutes and gigabytes, or the end
of the parser, and that must cost a process that has nothing else to do. Imports nothing of ours, knows no network.
"""

from __future__ import annotations

import codecs
import json
import re
import sys

MOST_SECONDS = 60
"""Of computing, in case that nobody is left to end the process; whoever waits gives up before."""
MOST_MEMORY = 768 << 20
"""Bytes of address space; a page of usual make takes a tenth. Ours to choose."""
MOST_CHARS = 60_000
"""Of the text of a page; a result is cut to its part of the window anyway."""
MOST_TITLE_CHARS = 200

_NOISE = ("script", "style", "noscript", "template", "svg", "nav", "header", "footer", "aside", "form", "iframe")
_INLINE = (
    "a",
    "abbr",
    "b",
    "code",
    "em",
    "font",
    "i",
    "kbd",
    "mark",
    "q",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "u",
)
_OF_NO_PAGE = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
"""Codings that Python knows and browsers do not: they make something else of a page that names one."""
_CHARSET = re.compile(rb"charset=[\"']?([A-Za-z0-9_-]{2,20})")


def text_of(kind: str, charset: str, body: bytes) -> tuple[str, str]:
    """Title and text of a page; of what is no HTML the text as it is."""
    found = _CHARSET.search(body[:2_048])
    source = _decoded(body, charset or (found[1].decode() if found else "utf-8"))
    if "html" not in kind:
        return "", source.strip()
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(source)
    titled = tree.css_first("title")
    title = " ".join(titled.text().split())[:MOST_TITLE_CHARS] if titled else ""
    tree.strip_tags(["title", *_NOISE])
    tree.unwrap_tags([*_INLINE])
    tree.merge_text_nodes()
    content = tree.css_first("main") or tree.css_first("article") or tree.body
    text = content.text(separator="\n", strip=True) if content else ""
    return title, re.sub(r"[ \t]+", " ", text)


def _decoded(body: bytes, charset: str) -> str:
    """Some codings are none of texts or of pages, and some take no broken text."""
    try:
        coding = "utf-8" if codecs.lookup(charset).name in _OF_NO_PAGE else charset
        return body.decode(coding, "replace")
    except (LookupError, ValueError):
        return body.decode("utf-8", "replace")


def _limit_ourselves() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


def main() -> None:
    """Read kind and coding of a page, a line of JSON, and its bytes; write title and text, with a character more than
    there may be where there is more.
    """
    _limit_ourselves()
    kind, charset = json.loads(sys.stdin.buffer.readline())
    title, text = text_of(kind, charset, sys.stdin.buffer.read())
    sys.stdout.write(json.dumps([title, text[: MOST_CHARS + 1]]))


if __name__ == "__main__":
    main()
