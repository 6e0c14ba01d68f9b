"""LlamaIndex: its simple chat engine with a ChatSummaryMemoryBuffer."""

from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import ChatSummaryMemoryBuffer

from bench.peers.stage import WINDOW, Stage, run


class Stub(CustomLLM):
    """A model that answers by a function."""

    reply: Any

    @property
    def metadata(self) -> LLMMetadata:
        """What it says of itself."""
        return LLMMetadata(context_window=WINDOW, is_chat_model=True, model_name="stub")

    def chat(self, messages, **kwargs) -> ChatResponse:
        """Answer."""
        text = self.reply((message.role.value, message.content or "") for message in messages)
        return ChatResponse(message=ChatMessage(role="assistant", content=text))

    def complete(self, prompt, formatted=False, **kwargs) -> CompletionResponse:
        """Not asked for."""
        raise NotImplementedError

    stream_complete = complete


def buffered(stage: Stage):
    """Its memory up to 70 % of the window."""
    memory = ChatSummaryMemoryBuffer.from_defaults(
        llm=Stub(reply=stage.sum_up), token_limit=stage.trigger, tokenizer_fn=stage.encoding.encode_ordinary
    )
    persona = ChatMessage(role="system", content=stage.talk.persona)
    return SimpleChatEngine(llm=Stub(reply=stage.answer), memory=memory, prefix_messages=[persona]).chat


run({"LlamaIndex ChatSummaryMemoryBuffer": buffered})
