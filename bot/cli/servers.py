"""What the doctor says about model servers: whether they answer, and what is known of the default model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from bot.chat import Finding, Severity
from bot.llm.catalogue import SMALL_BY_DEFAULT, ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.configured import LocalModel, configured_providers, default_model, model_catalogue, named_fallbacks
from bot.llm.directory import ModelDirectory
from bot.llm.model import Completion, Model, ModelError, ModelMessage, ModelRequest, ModelUnreachable, Role
from bot.llm.quirks import Quirks
from bot.settings import Moderation, Settings


async def model_findings(settings: Settings, local: LocalModel | None) -> AsyncIterator[Finding]:
    """Every model server, and each model of the settings by a real question. What it learns is kept nowhere."""
    providers, catalogue = configured_providers(settings, local), model_catalogue(settings, local)
    model = OpenAIModel(providers, Quirks(), catalogue)
    name = default_model(settings, local)
    try:
        for provider in providers:
            yield await provider_finding(model, provider)
        yield (answered := await model_finding(model, name))
        if answered.severity is not Severity.FAULT:
            for finding in limit_findings(catalogue, name):
                yield finding
        directory = ModelDirectory(tuple(providers), name, model.list_models)
        for other in other_models(settings, directory):
            yield await model_finding(model, other)
        for setting, voice in named_voices(settings):
            if told := await voice_finding(model, directory.effective(voice), setting):
                yield told
        if settings.moderation.model:
            yield await moderation_finding(model, settings.moderation)
    finally:
        await model.close()


def other_models(settings: Settings, directory: ModelDirectory) -> tuple[str, ...]:
    """The models besides the default one that the settings let answer, by their full names."""
    fallbacks = (model for _, model in named_fallbacks(settings))
    chosen = (*fallbacks, *filter(None, (settings.summary.model,)), *settings.vision_model)
    names = dict.fromkeys(directory.effective(model) for model in chosen)
    return tuple(name for name in names if name != directory.default and not directory.is_gone(name))


async def provider_finding(client: OpenAIModel, provider: str) -> Finding:
    """Whether a model server answers and lets us in."""
    try:
        models = await client.list_models(provider)
    except ModelError as error:
        return _model_fault(f"provider {provider}", error, provider)
    offered = "1 model" if len(models) == 1 else f"{len(models)} models"
    return _ok(f"provider {provider}", f"answers and offers {offered}" if models else "answers")


async def model_finding(model: Model, name: str) -> Finding:
    """Whether a model answers a real question."""
    question = ModelMessage(role=Role.USER, text="Say hello.")
    try:
        async for event in model.stream(ModelRequest(model=name, messages=(question,), max_output_tokens=64)):
            if isinstance(event, Completion) and not event.text.strip():
                return _warning(f"model {name}", f"answered nothing ({event.finish})", "Try another MODEL")
    except ModelError as error:
        return _model_fault(f"model {name}", error, name.partition("/")[0])
    return _ok(f"model {name}", "answers")


async def moderation_finding(client: OpenAIModel, given: Moderation) -> Finding:
    """Whether a moderation endpoint gives verdicts."""
    subject = f"moderation by {given.model}"
    try:
        await client.moderate(given.model, ("Hello.",), seconds=given.timeout.total_seconds())
    except ModelError as error:
        return _model_fault(subject, error, given.model.partition("/")[0])
    return _ok(subject, "gives verdicts")


def named_voices(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each model that hears or speaks behind the name of the setting that has it."""
    yield from (("VOICE__TRANSCRIPTION_MODEL", model) for model in settings.voice.transcription_model)
    yield from (("VOICE__SPEECH_MODEL", model) for model in settings.voice.speech_model)


async def voice_finding(client: OpenAIModel, name: str, setting: str) -> Finding | None:
    """Whether a model that hears or speaks is there, as far as its server tells; nothing where that is away."""
    provider, _, bare = name.partition("/")
    try:
        models = await client.list_models(provider)
    except ModelError:
        return None  # told of the server
    if models and bare not in models:
        problem = "is not among those that its server offers"
        return _warning(f"model {name}", problem, f"Check {setting}")
    return _ok(f"model {name}", "is offered" if models else "cannot be looked up; its server lists none")


def limit_findings(catalogue: ModelCatalogue, name: str) -> Iterator[Finding]:
    """What is assumed about the default model, and how to say better."""
    subject, provider, limits = f"model {name}", name.partition("/")[0], catalogue.limits(name)
    setting = f"PROVIDERS__{provider.upper()}"
    tokens = f"{limits.context_window} tokens"
    if limits.source != "configured" and provider in SMALL_BY_DEFAULT:
        yield _warning(
            subject,
            f"is sent at most {tokens}, because this server cuts longer prompts silently unless told otherwise",
            f"Raise its context length first (Ollama: OLLAMA_CONTEXT_LENGTH), then {setting}__CONTEXT_WINDOW likewise",
        )
    elif limits.source == "default":
        yield _warning(
            subject,
            f"is of no known family, so that a window of {tokens} is assumed",
            f"Set {setting}__CONTEXT_WINDOW to the tokens that the server runs it with",
        )
    else:
        yield _ok(subject, f"has a window of {tokens} ({limits.source})")
    if not limits.vision:
        yield Finding(
            severity=Severity.OK,
            subject=subject,
            message="is told of pictures in words, as it is not known to take them",
            remedy=f"If it does: {setting}__VISION=on" if provider != "local" else "",
        )


def _model_fault(subject: str, error: ModelError, provider: str) -> Finding:
    remedy = error.remedy or "Check MODEL in .env"
    if isinstance(error, ModelUnreachable):
        remedy = f"Check PROVIDERS__{provider.upper()}__BASE_URL, and that the server runs. {error.remedy}".strip()
    return Finding(severity=Severity.FAULT, subject=subject, message=error.problem, remedy=remedy)


def _ok(subject: str, message: str) -> Finding:
    return Finding(severity=Severity.OK, subject=subject, message=message)


def _warning(subject: str, message: str, remedy: str) -> Finding:
    return Finding(severity=Severity.WARNING, subject=subject, message=message, remedy=remedy)
