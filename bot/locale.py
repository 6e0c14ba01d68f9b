"""The texts that people read, in their language: one gettext catalogue for each locale, `bot/locales/<locale>.po`.

Knows no user and no place; who asks brings a locale. This is the only importer of `polib`.
"""

from __future__ import annotations

import gettext
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import polib
import structlog

from bot.errors import OperatorError

LOCALES_FOLDER = Path(__file__).parent / "locales"
FALLBACK = "en"

NAME = "name-"
"""How the ids begin of what commands, options and values are called. One without a text goes by its English word: that
is no fault.
"""

FACT = re.compile(r"\{(\w+)\}")
"""Where a text takes a fact: its name in braces."""

log = structlog.get_logger(__name__)


class CatalogueDamaged(OperatorError):
    """A file of texts cannot be read."""

    def __init__(self, path: Path, problem: Exception) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path} is no gettext catalogue: {problem}. Mend it, remove it, or reinstall Familiar.")


class Catalogue:
    """All texts of the product. A further language is one further file, `<locale>.po`."""

    def __init__(self, folder: Path = LOCALES_FOLDER) -> None:
        """Read every file, 20 ms each, once a process.

        Raises:
            CatalogueDamaged: one of them cannot be read.
        """
        self._by_locale = {locale: _read(folder / f"{locale}.po") for locale in locales_of(folder)}
        self._by_tag = {locale.lower(): locale for locale in self._by_locale}
        self._added: dict[str, dict[str, str]] = {}
        self._told: set[tuple[str, str]] = set()

    def add(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        """Texts that extensions bring, by locale and id; none takes the place of one of ours."""
        for locale, wordings in texts.items():
            self._added.setdefault(locale, {}).update(wordings)

    @property
    def locales(self) -> tuple[str, ...]:
        """Every locale that has a file, English first."""
        return tuple(self._by_locale)

    def negotiate(self, locale: str | None) -> str:
        """The nearest locale that has a file: the tag itself, then its shorter forms, then English."""
        tag = (locale or FALLBACK).replace("_", "-").lower()
        while tag:
            if tag in self._by_tag:
                return self._by_tag[tag]
            tag = tag.rpartition("-")[0]
        return FALLBACK

    def text(self, message_id: str, /, locale: str | None = None, **facts: str | int | float) -> str:
        """The text with its facts put in as they are, never read as markup. Safe to call from any thread.

        A text with plural forms takes the form for the fact `count`. One that a language lacks comes in English; one
        that no file has comes as its id, and is logged once, unless it is a name.
        """
        wording = self._wording(message_id, locale, facts.get("count"))
        if wording is None:
            if not message_id.startswith(NAME):
                self._tell_once("text_missing", message_id)
            return message_id
        if lacking := set(FACT.findall(wording)) - facts.keys():
            self._tell_once("text_incomplete", message_id, lacking=sorted(lacking))
        return FACT.sub(lambda place: _shown(facts.get(place[1], place[0])), wording)

    def _wording(self, message_id: str, locale: str | None, count: str | float | None) -> str | None:
        for candidate in dict.fromkeys((self.negotiate(locale), FALLBACK)):
            texts = self._by_locale[candidate]
            wording = texts.ngettext(message_id, message_id, count) if isinstance(count, int) else message_id
            if wording == message_id:  # gettext's word for: not there
                wording = texts.gettext(message_id)
            wording = self._added.get(candidate, {}).get(message_id, wording) if wording == message_id else wording
            if wording != message_id:
                return wording
        return None

    def _tell_once(self, event: str, message_id: str, *, lacking: Sequence[str] = ()) -> None:
        if (event, message_id) not in self._told:
            self._told.add((event, message_id))
            log.warning(event, message_id=message_id, lacking=list(lacking))


def locales_of(folder: Path = LOCALES_FOLDER) -> tuple[str, ...]:
    """Every locale that has a file, English first."""
    return FALLBACK, *sorted(path.stem for path in folder.glob("*.po") if path.stem != FALLBACK)


def locale_of_terminal(environment: Mapping[str, str]) -> str | None:
    """The language of a terminal as a tag ("zh-CN"), by the rules of POSIX; `None` for "C"."""
    chosen = next(filter(None, map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    tag = chosen.partition(".")[0].partition("@")[0].replace("_", "-")
    return None if tag in ("", "C", "POSIX") else tag


def has_texts(tag: str, locales: Iterable[str]) -> bool:
    """Whether there are texts in a language, given as a tag such as `zh` or `zh-TW`, in any of its variants."""
    return _language(tag) in map(_language, locales)


def _language(tag: str) -> str:
    return tag.replace("_", "-").partition("-")[0].lower()


@cache
def _read(path: Path) -> gettext.GNUTranslations:
    try:
        return gettext.GNUTranslations(io.BytesIO(polib.pofile(str(path)).to_binary()))
    except (OSError, ValueError) as error:
        raise CatalogueDamaged(path, error) from error


def _shown(fact: str | float) -> str:
    """Numbers are grouped by commas, as in English and Chinese."""
    match fact:
        case str():
            return fact
        case int():
            return f"{fact:,}"
        case float():
            return f"{fact:,g}"
