"""LangChain: an agent with its SummarizationMiddleware. Its state is carried by hand, without a checkpointer."""

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from bench.peers.stage import Stage, run

MARKER_TOKENS = 7


class Stub(BaseChatModel):
    """A model that answers by a function."""

    reply: object

    @property
    def _llm_type(self) -> str:
        return "stub"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        text = self.reply((message.type, message.text) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def with_settings(settings):
    """A way to use it; `settings` are the middleware's, made from a stage."""

    def make(stage: Stage):
        summed = SummarizationMiddleware(model=Stub(reply=stage.sum_up), **settings(stage))
        agent = create_agent(Stub(reply=stage.answer), tools=[], system_prompt=stage.talk.persona, middleware=[summed])
        messages = []

        def say(text: str) -> None:
            messages[:] = agent.invoke({"messages": [*messages, HumanMessage(text)]})["messages"]

        return say

    return make


def usual(stage: Stage) -> dict:
    """Its defaults; only when it sums up must be said."""
    return {"trigger": ("tokens", stage.trigger)}


def roomy(stage: Stage) -> dict:
    """Exact counts, 30 % of the window kept, and the whole history for its summary."""

    def count(messages) -> int:
        return sum(stage.count(message.text) + MARKER_TOKENS for message in messages)

    kept = {"keep": ("tokens", stage.keep), "token_counter": count, "trim_tokens_to_summarize": None}
    return {**usual(stage), **kept}


run(
    {
        "LangChain SummarizationMiddleware, defaults": with_settings(usual),
        "LangChain SummarizationMiddleware, 70 to 30 %, nothing trimmed": with_settings(roomy),
    }
)
