"""Markdown with what Discord does not show put in words that it does. Knows no client library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it.token import Token

from adapters.markup.dialect import RULE, parse, worth_parsing
from adapters.markup.tables import draw_table


def to_discord(markdown: str) -> str:
    """The source as Discord shows it best; what it understands stays byte for byte.

    Tables become fenced text, images links, headings below the third level bold lines, horizontal rules a drawn line,
    and fences of tildes or of many backticks plain fences. Partial texts are as welcome as whole ones. What lies beyond
    `LONGEST` stays as it is.
    """
    source, rest = worth_parsing(markdown)
    if not _UNKNOWN.search(source):
        return markdown
    lines = _LINE.findall(source)
    tokens = iter(parse(source))
    pieces: list[str] = []
    done = 0
    for token in tokens:
        if token.map is None or token.map[0] < done:
            continue
        first, last = token.map
        shown = _reword(token, tokens, lines[first:last])
        if shown is not None:
            pieces += [*lines[done:first], shown]
            done = last
    return "".join([*pieces, *lines[done:], rest])


_UNKNOWN = re.compile(
    r"""
      !\[ | \|[ \t]*:?- | -:?[ \t]*\| | ~~~ | ````
    | ^[^\w\n]*\#{4,6}[ \t]
    | ^[ \t>+*_-]{3,}\r?$
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Traces of anything below; most answers hold none and need no parsing."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its end, as the parser counts lines."""
_QUOTE = re.compile(r"[ \t>]*")


def _reword(token: Token, tokens: Iterator[Token], lines: list[str]) -> str | None:
    """New text for the lines of a token; `None` when Discord shows them well."""
    match token.type:
        case "table_open":
            return _reword_table(draw_table(tokens), lines)
        case "heading_open" if token.tag in ("h4", "h5", "h6"):
            return _HEADING.sub(_reword_heading, _reword_images(lines[0]), count=1)
        case "hr":
            return _RULE.sub(RULE, lines[0], count=1)
        case "fence" if token.markup != "```":
            return _reword_fence(lines)
        case "inline" if any(child.type == "image" for child in token.children or ()):
            return _reword_images("".join(lines))
    return None


def _reword_table(drawn: str, lines: list[str]) -> str:
    quote = _QUOTE.match(lines[0])
    before = quote[0] if quote else ""
    end = lines[-1][len(lines[-1].rstrip("\r\n")) :]
    return "\n".join(before + line for line in ("```", *_without_fences(drawn).split("\n"), "```")) + end


_HEADING = re.compile(r"#{4,6}[ \t]+(?P<title>[^\r\n]*?)(?:[ \t]+#+)?[ \t]*(?=[\r\n]|$)")


def _reword_heading(heading: re.Match[str]) -> str:
    title = heading["title"]
    return f"**{title}**" if title and "**" not in title else title


_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}")


def _reword_fence(lines: list[str]) -> str:
    opening, *body = lines
    closing = [body.pop()] if body and _FENCE_ONLY.match(body[-1]) else []
    border = [_MARK.sub("```", line, count=1) for line in (opening, *closing)]
    return "".join([border[0], *map(_without_fences, body), *border[1:]])


_MARK = re.compile(r"`{3,}|~{3,}")
_FENCE_ONLY = re.compile(r"[ \t>]*(?:`{3,}|~{3,})\s*$")


def _without_fences(code: str) -> str:
    """Code in which no three backticks meet, which would end a fence of three; an invisible space parts them."""
    return code.replace("```", "`\u200b`\u200b`")


_IMAGE = re.compile(
    r"""
      (?P<code>(?P<ticks>`+).*?(?<!`)(?P=ticks)(?!`))
    | (?<![\\])!\[(?P<alt>[^\[\]]*)\]\((?P<target>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?P<title>\s[^()]*)?\)
    """,
    re.VERBOSE | re.DOTALL,
)


def _reword_images(text: str) -> str:
    return _IMAGE.sub(_reword_image, text)


def _reword_image(image: re.Match[str]) -> str:
    if image["code"]:
        return image[0]
    if image.string[image.start() - 1 : image.start()] == "[":  # it is the text of a link
        return image["alt"] or image["target"]
    return f"[{image['alt']}]({image['target']})" if image["alt"] else image["target"]
