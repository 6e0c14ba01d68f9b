"""The texts that people read, in their language: one Project Fluent file for each locale in `bot/locales`.

Knows no user and no place; who asks brings a locale. This is the only importer of `fluent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import structlog
from fluent.runtime import FluentBundle, FluentResource

LOCALES_FOLDER = Path(__file__).parent / "locales"
FALLBACK = "en"

log = structlog.get_logger(__name__)


class Catalogue:
    """All texts of the product. A further language is one further file, `<locale>.ftl`."""

    def __init__(self, folder: Path = LOCALES_FOLDER) -> None:
        self._folder = folder
        others = sorted(path.stem for path in folder.glob("*.ftl") if path.stem != FALLBACK)
        self._by_tag = {locale.lower(): locale for locale in (FALLBACK, *others)}
        self._bundles: dict[str, FluentBundle] = {}
        self._loading = Lock()  # guards the parsing of a file, which threads would otherwise repeat
        self._told: set[tuple[str, str]] = set()

    @property
    def locales(self) -> tuple[str, ...]:
        """Every locale that has a file, English first."""
        return tuple(self._by_tag.values())

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

        A text that a language lacks comes in English; one that no file has comes as its id, and is logged once.
        """
        for candidate in dict.fromkeys((self.negotiate(locale), FALLBACK)):
            text = self._formatted(message_id, candidate, facts)
            if text is not None:
                return text
        self._tell_once("text_missing", message_id)
        return message_id

    def _formatted(self, message_id: str, locale: str, facts: dict[str, str | int | float]) -> str | None:
        bundle = self._bundle(locale)
        if not bundle.has_message(message_id):
            return None
        pattern = bundle.get_message(message_id).value
        if pattern is None:
            return None
        text, errors = bundle.format_pattern(pattern, facts)
        if errors:
            self._tell_once("text_incomplete", message_id, problems=[str(error) for error in errors])
        return str(text)

    def _bundle(self, locale: str) -> FluentBundle:
        with self._loading:
            if locale not in self._bundles:
                self._bundles[locale] = self._read_bundle(locale)
            return self._bundles[locale]

    def _read_bundle(self, locale: str) -> FluentBundle:
        # Isolating marks would show as boxes in terminals and break copied commands.
        bundle = FluentBundle([locale, FALLBACK], use_isolating=False)
        path = self._folder / f"{locale}.ftl"
        if path.is_file():
            bundle.add_resource(FluentResource(path.read_text(encoding="utf-8")))
        return bundle

    def _tell_once(self, event: str, message_id: str, *, problems: Sequence[str] = ()) -> None:
        if (event, message_id) not in self._told:
            self._told.add((event, message_id))
            log.warning(event, message_id=message_id, problems=list(problems))
