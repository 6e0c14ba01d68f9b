"""The settings, with what only the whole product can tell: whether the personas, models and languages in them exist."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from bot.app.extended import extension_problems
from bot.app.moderation import moderation_problems
from bot.app.personas import persona_problems
from bot.app.quota import price_problems
from bot.env import Reading, load_settings
from bot.llm.configured import LOCAL, embedded_fallback, named_fallbacks, names_remote_model
from bot.llm.model_files import MODEL_FILES
from bot.locale import has_texts, locales_of
from bot.personas.imported import put_imported
from bot.personas.library import PersonaLibrary
from bot.settings import Settings
from bot.store.database import DatabaseUnusable


def checked_settings(env_file: Path | None = Path(".env")) -> Settings:
    """The settings, sure to name only what is there. Asks no server.

    Raises:
        SettingsError: with every problem found, in words.
    """
    checks = (
        _persona_problems,
        _model_problems,
        _price_problems,
        _language_problems,
        _moderation_problems,
        extension_problems,
    )
    return load_settings(env_file, checks=checks)


def _persona_problems(reading: Reading) -> list[str]:
    """Imported cards count, too, as far as the database can be read; what is wrong with it is told elsewhere."""
    settings, library = reading.settings, PersonaLibrary()
    problems = persona_problems(settings, library)
    if problems and settings.sqlite_url.startswith("sqlite"):
        with suppress(DatabaseUnusable):
            put_imported(library, settings.sqlite_url)
            problems = persona_problems(settings, library)
    return problems


def _moderation_problems(reading: Reading) -> Iterator[str]:
    if reading.is_sound("providers") and reading.is_sound("moderation"):
        yield from moderation_problems(reading.settings)


def _language_problems(reading: Reading) -> Iterator[str]:
    locales = locales_of()
    for name, language in _given("language", reading.settings):
        if language != "auto" and not has_texts(language, locales):
            yield f"{name} names a language that has no texts here; choose one of: {', '.join(('auto', *locales))}"


def _model_problems(reading: Reading) -> Iterator[str]:
    settings = reading.settings
    if "providers" in reading.unsound:  # which servers there are is not known
        return
    stands_by = f"{LOCAL}/{embedded_fallback(settings)}"
    named = (*_given("model", settings), *named_fallbacks(settings), *_for_one_thing(settings))
    for (name, model), which in zip(named, _entries([name for name, _ in named]), strict=True):
        owner = model.partition("/")[0]
        if model == stands_by and name.endswith("FALLBACKS"):
            continue
        if model and owner not in settings.providers and f"providers__{owner}" in reading.unsound:
            continue  # it is there, and what is wrong with it is told
        if model and (problem := _model_problem(model, settings, is_default=name == "MODEL")):
            yield f"{name}{which} {problem}"


def _entries(names: Sequence[str]) -> Iterator[str]:
    """For each name of a setting which entry of its list is meant, where it has several; its text may be a secret."""
    seen, counts = Counter[str](), Counter(names)
    for name in names:
        seen[name] += 1
        yield f" (entry {seen[name]})" if counts[name] > 1 else ""


def _price_problems(reading: Reading) -> Iterator[str]:
    settings = reading.settings
    if reading.is_sound("providers") and reading.is_sound("models") and reading.is_sound("quota"):
        yield from price_problems(
            settings, (*_given("model", settings), *named_fallbacks(settings), *_for_one_thing(settings))
        )


def _given(key: str, settings: Settings) -> Iterator[tuple[str, str]]:
    """A per-place key by the name of each setting that gives it a value, and the value."""
    yield key.upper(), getattr(settings, key)
    for platform, values in settings.profiles.items():
        if isinstance(value := values.get(key), str):
            yield f"PROFILES__{platform}__{key}".upper(), value


def _for_one_thing(settings: Settings) -> Iterator[tuple[str, str]]:
    """The models that do not talk, by the names of their settings."""
    yield "SUMMARY__MODEL", settings.summary.model or ""
    for name, models in (
        ("VISION_MODEL", settings.vision_model),
        ("VOICE__TRANSCRIPTION_MODEL", settings.voice.transcription_model),
        ("VOICE__SPEECH_MODEL", settings.voice.speech_model),
    ):
        yield from ((name, model) for model in models)


def _model_problem(model: str, settings: Settings, *, is_default: bool) -> str | None:
    """Why no server and no file of ours can be meant; models are as `bot.llm.configured` reads them."""
    owner, slash, name = model.partition("/")
    is_remote, is_path = names_remote_model(settings), model.startswith(("/", ".", "~"))
    if slash and owner in settings.providers:
        return None if name else f"names no model: write {owner}/model, as that server calls it"
    if slash and not is_path and owner != LOCAL:
        return _unknown_provider(owner, model, settings)
    if not slash and (len(settings.providers) == 1 if is_default else is_remote):
        return None  # a bare name takes that provider
    if not slash and is_default and settings.providers:
        examples = " or ".join(f"{provider}/model" for provider in settings.providers)
        return f"names no provider, and several are configured: write it as {examples}"
    if not is_default and is_remote:
        known = " or ".join(f"{LOCAL}/{name}" for name in MODEL_FILES)
        only = f"which runs only where MODEL names it, or FALLBACKS as {known}, one of them"
        return f"names the embedded model, {only}: {_how_to_name(settings)}"
    file = model.removeprefix(f"{LOCAL}/")
    if file in MODEL_FILES or Path(file).expanduser().is_file():
        return None
    if slash:
        return f"names a file that is not there; {_how_to_name(settings)}"
    return f"names neither a provider nor a file: {_how_to_name(settings)}"


def _unknown_provider(owner: str, model: str, settings: Settings) -> str:
    if Path(model).is_file():
        return f"names a file, and a path must begin with ./ or /: write ./{model}"
    known = ", ".join(settings.providers) or "none"
    if near := difflib.get_close_matches(owner.lower(), [*settings.providers, LOCAL], n=1):
        meant = f"did you mean {near[0]}/model?"
    else:
        prefix = f"PROVIDERS__{owner.upper()}__"
        meant = f"set {prefix}API_KEY or {prefix}BASE_URL, or name another one"
    return f"names the provider {owner!r} that is not configured (configured: {known}); {meant}"


def _how_to_name(settings: Settings) -> str:
    known = ", ".join(settings.providers) or "none"
    files = ", ".join(f"{LOCAL}/{name}" for name in MODEL_FILES)
    return f"write provider/model (configured providers: {known}), {files}, or the path of a .gguf file"
