"""What is known of kinds of servers before they refuse anything: their quirks, how they think, and where Azure is."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest

from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.configured import configured_providers
from bot.llm.lessons import quirk_for
from bot.llm.model import Completion, ModelRefused
from bot.llm.quirks import KNOWN, Kind, Quirk, Quirks, kind_of, known_of
from bot.llm.refusals import read_refusal
from bot.llm.wire import chat_body
from bot.settings import Settings
from bot.settings.models import ServerKind
from tests.conftest import MakeApp
from tests.conversations import CONVERSATIONS, Stage
from tests.emulators.openai import OpenAIEmulator, Refuse, Request, Say, Script, errors
from tests.emulators.openai.harness import EVERYTHING, HELLO, SECRET, TOOL, asks, bench
from tests.emulators.openai.profiles import PROFILES, Profile, behaving_like


@pytest.mark.parametrize(
    ("name", "base_url", "kind"),
    [
        ("openai", "https://api.openai.com/v1", Kind.OPENAI),
        ("work", "https://eu.api.openai.com/v1", Kind.OPENAI),
        ("openai", "http://127.0.0.1:4000/v1", None),
        ("mine", "https://lab.openai.azure.com", Kind.AZURE),
        ("mine", "https://lab.services.ai.azure.com/openai/v1", Kind.AZURE),
        ("router", "https://openrouter.ai/api/v1", Kind.OPENROUTER),
        ("deepseek", "https://api.deepseek.com/v1", Kind.DEEPSEEK),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", Kind.GEMINI),
        ("mistral", "https://api.mistral.ai/v1", Kind.MISTRAL),
        ("ollama", "http://box:11434/v1", Kind.OLLAMA),
        ("home", "http://127.0.0.1:11434/v1", Kind.OLLAMA),
        ("lm_studio", "http://box:9999/v1", Kind.LMSTUDIO),
        ("vllm", "http://box:8000/v1", Kind.VLLM),
        ("llama-cpp", "http://127.0.0.1:8080/v1", Kind.LLAMACPP),
        ("lab", "http://127.0.0.1:8000/v1", None),
        ("lab", "https://api.openai.com.example.org/v1", None),
    ],
)
def test_a_server_is_known_by_its_address_and_at_home_by_its_name(name: str, base_url: str, kind: Kind | None) -> None:
    assert kind_of(name, base_url) is kind


def test_the_operator_can_say_what_a_server_is() -> None:
    assert set(get_args(ServerKind)) == set(Kind)
    lab = {"base_url": "http://10.0.0.2:8000/v1", "kind": "vllm"}
    settings = Settings(providers={"lab": lab, "ollama": {}})
    kinds = {name: provider.kind for name, provider in configured_providers(settings, None).items()}
    assert kinds == {"lab": Kind.VLLM, "ollama": Kind.OLLAMA}


def test_something_is_known_of_every_kind() -> None:
    assert {known.kind for known in KNOWN} == set(Kind)
    assert known_of(None, "gpt-5") is None


@pytest.mark.parametrize(
    ("kind", "model", "thinking", "sent"),
    [
        (Kind.OPENAI, "gpt-5-mini", True, {"reasoning_effort": "medium"}),
        (Kind.OPENAI, "gpt-5-mini", False, {}),
        (Kind.OPENAI, "gpt-5.1", False, {"reasoning_effort": "none"}),
        (Kind.OPENAI, "gpt-4.1", False, {}),
        (Kind.OPENROUTER, "qwen/qwen3-32b", False, {"reasoning": {"enabled": False}}),
        (Kind.OPENROUTER, "qwen/qwen3-32b", True, {"reasoning": {"enabled": True}}),
        (Kind.DEEPSEEK, "deepseek-v4-flash", False, {"thinking": {"type": "disabled"}}),
        (Kind.GEMINI, "gemini-2.5-flash", False, {"reasoning_effort": "none"}),
        (Kind.GEMINI, "gemini-3-flash", False, {}),
        (Kind.OLLAMA, "qwen3:8b", False, {"reasoning_effort": "none"}),
        (Kind.OLLAMA, "qwen3:8b", True, {"reasoning_effort": "medium"}),
        (Kind.OLLAMA, "llama3.1:8b", False, {}),  # which cannot think, and must not be told so
        (Kind.LMSTUDIO, "qwen3-8b", False, {"reasoning_effort": "none"}),
        (Kind.VLLM, "Qwen/Qwen3-8B", False, {"chat_template_kwargs": {"enable_thinking": False}}),
        (Kind.LLAMACPP, "qwen3-8b", True, {"chat_template_kwargs": {"enable_thinking": True}}),
        (Kind.MISTRAL, "magistral-small", True, {"reasoning_effort": "medium"}),
        (None, "qwen3-8b", False, {}),
    ],
)
async def test_reasoning_is_switched_as_is_known_of_the_kind(
    kind: Kind | None, model: str, thinking: bool, sent: Mapping[str, Any]
) -> None:
    async with bench(kind=kind) as it:
        await it.ask(asks(model=f"test/{model}", thinking=thinking))
    switches = ("reasoning_effort", "reasoning", "thinking", "chat_template_kwargs", "enable_thinking", "think")
    assert {key: it.openai.last.body[key] for key in switches if key in it.openai.last.body} == sent


KINDS = {"openai": (Kind.OPENAI, "gpt-5-mini"), "deepseek": (Kind.DEEPSEEK, "m"), "mistral": (Kind.MISTRAL, "m")}


@pytest.mark.parametrize("profile", [one for one in PROFILES if one.name in KINDS], ids=lambda it: it.name)
async def test_what_is_known_need_not_be_refused_first(profile: Profile) -> None:
    kind, model = KINDS[profile.name]
    known = known_of(kind, model)
    assert known is not None
    request = asks("How is she?", model=f"test/{model}", stop=("\nBob:",), json_schema={"type": "object"},
                   parameters={"temperature": 0.8}, tools=(TOOL,))  # fmt: skip
    taken = []
    for told in (None, kind):
        async with bench(behaving_like(profile, lambda _: Say(text="{}")), kind=told) as it:
            await it.ask(request)
            taken.append(len(it.openai.requests))
            assert not {learned.quirk for learned in it.saved} & (known.quirks if told else frozenset())
    assert taken[1] < taken[0]


TOOLS_WITHOUT_EFFORT = (
    "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use function "
    "tools, use /v1/responses or set reasoning_effort to 'none'."
)


async def test_a_model_that_cannot_think_while_it_has_tools_keeps_the_tools() -> None:
    def script(request: Request) -> Say | Refuse:
        thinks = request.body.get("reasoning_effort", "medium") != "none"
        return errors.openai_error(400, TOOLS_WITHOUT_EFFORT) if thinks and "tools" in request.body else Say(text="Hi")

    async with bench(script) as it:
        await it.ask(asks(thinking=True, tools=(TOOL,)))
        assert [learned.quirk for learned in it.saved] == [Quirk.NO_THINKING_WITH_TOOLS]
        await it.ask(asks(thinking=False, tools=(TOOL,)))
        await it.ask(asks(thinking=True))
        efforts = [request.body.get("reasoning_effort") for request in it.openai.requests]
    assert efforts == ["medium", "none", "none", "medium"]


def test_reasoning_that_is_mandatory_is_not_switched() -> None:
    body = chat_body(EVERYTHING, "m", frozenset(), output_limit=9)
    refusal = read_refusal(
        400, {"error": {"message": "Reasoning is mandatory for this endpoint and cannot be disabled."}}
    )
    assert quirk_for(refusal, body) is Quirk.NO_THINKING


@asynccontextmanager
async def azure(script: Script = HELLO) -> AsyncIterator[tuple[OpenAIModel, OpenAIEmulator]]:
    """A client as configured for Azure by date, and the server that stands for it."""
    async with OpenAIEmulator(script) as server:
        given = {"base_url": server.base_url.removesuffix("/v1"), "api_key": SECRET, "api_version": "2024-10-21"}
        settings = Settings(providers={"test": given})
        model = OpenAIModel(configured_providers(settings, None), Quirks(), ModelCatalogue())
        yield model, server
        await model.close()


async def test_azure_is_asked_at_its_deployments_with_the_date_of_its_api_and_the_key_in_its_header() -> None:
    async with azure() as (model, server):
        *_, completion = [event async for event in model.stream(asks(model="test/my deployment"))]
        assert isinstance(completion, Completion)
        assert completion.text == "Hello!"
        assert server.last.path == "/openai/deployments/my deployment/chat/completions"
        assert server.last.query == {"api-version": "2024-10-21"}
        assert server.last.headers["api-key"] == SECRET
        assert "Authorization" not in server.last.headers
        assert await model.list_models("test") == ()  # names of models, not of deployments


async def test_azure_says_so_where_there_is_no_such_deployment() -> None:
    missing = errors.openai_error(404, "The API deployment does not exist.", code="DeploymentNotFound")
    async with azure(missing) as (model, _):
        with pytest.raises(ModelRefused, match="not found"):
            [event async for event in model.stream(asks())]


OF_A_KIND = {name: profile for profile in PROFILES if (name := re.sub("[^a-z]", "", profile.name)) in [*Kind]}


def test_every_kind_has_a_profile() -> None:
    assert OF_A_KIND.keys() == set(Kind)


@pytest.mark.parametrize("kind", OF_A_KIND)
@pytest.mark.parametrize("name", ["tools", "reasoning", "json result"])
async def test_a_server_of_a_known_kind_holds_the_conversations_about_what_is_known(
    kind: str, name: str, make_app: MakeApp
) -> None:
    profile, conversation = OF_A_KIND[kind], next(one for one in CONVERSATIONS if one.name == name)
    async with bench(behaving_like(profile, conversation.model), kind=Kind(kind)) as it:
        stage = Stage(profile=profile, bench=it, make_app=make_app)
        await conversation.hold(stage)
        taught = len(it.openai.requests)
        assert await conversation.hold(stage) == len(it.openai.requests) - taught
