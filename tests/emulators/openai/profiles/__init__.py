"""Kinds of model servers, each as data, and the scripted server that behaves like one: see `behaving_like`."""

from __future__ import annotations

from collections.abc import Callable

from tests.emulators.openai.profiles import hosted, local
from tests.emulators.openai.profiles.dialect import error_event, phrased, whole
from tests.emulators.openai.profiles.gate import FORBIDDEN, is_forbidden, refusal_of
from tests.emulators.openai.profiles.profile import Profile
from tests.emulators.openai.script import DONE, Chooser, Plain, Refuse, Reply, Request, Say, Stream, chunk

PROFILES: tuple[Profile, ...] = (
    hosted.OPENAI,
    hosted.AZURE,
    hosted.OPENROUTER,
    hosted.DEEPSEEK,
    hosted.GEMINI,
    local.OLLAMA,
    local.LM_STUDIO,
    local.VLLM,
    local.LLAMA_CPP,
    hosted.MISTRAL,
    local.NO_SYSTEM_ROLE,
    local.REASONING_ONLY,
    local.HOSTILE,
)

STUMBLES: tuple[Reply, ...] = (
    Plain(body={"error": {"message": "upstream is gone", "code": 502}}),
    Refuse(status=503, body="<html><h1>503</h1></html>"),
)
"""What a server that stumbles says: an error with status 200, and a page of the proxy before it."""

__all__ = ["FORBIDDEN", "PROFILES", "Profile", "behaving_like"]


def behaving_like(profile: Profile, model: Callable[[Request], Say]) -> Chooser:
    """A script for the scripted server: `model` says what to answer, the profile whether and how it is said."""

    def answer(request: Request) -> Reply:
        if request.number <= profile.stumbles:
            return STUMBLES[request.number - 1]
        streams = bool(request.body.get("stream"))
        if (refused := refusal_of(profile, request.body)) is not None:
            trait, refusal = refused
            in_stream = streams and trait in profile.refuses_in_stream
            return Stream([error_event(refusal.body), DONE]) if in_stream else refusal
        if isinstance(profile.declines, str) and is_forbidden(request.body):
            return Stream([chunk(None, finish=profile.declines), DONE])
        say = model(request)
        return Stream(phrased(profile, say, request)) if streams else Plain(body=whole(profile, say, request))

    return answer
