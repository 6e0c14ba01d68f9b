"""Profiles of model servers that people run at home, and of three that stand for kinds: without a system role, all
reasoning, and hostile. Sources: the servers' code and issue trackers, read in November 2026.
"""

from tests.emulators.openai.profiles.profile import API_FIELDS, CODED_ERROR, No, Profile

# ollama/ollama: openai/openai.go, #7881 (no index, since mended), #4357 (empty finish reasons), #9741 (images).
OLLAMA = Profile(
    name="ollama",
    error={"error": {"message": "{words}", "type": "api_error", "param": None, "code": None}},
    refuses={
        "image": No(500, "Failed to create new sequence: failed to process inputs: this model is missing data required "
            "for image input"),
        "reasoning_effort": No(400, '"scripted" does not support thinking'),
    },
    reasoning="reasoning",
    unfinished="",
    finishes={"tool_calls": "stop"},
    call_piece=0,
    call_indexed=False,
)  # fmt: skip

# lmstudio-ai/lmstudio-bug-tracker#189, #237, #546; nugget/thane-ai-agent#1395 (refusals inside a stream).
LM_STUDIO = Profile(
    name="lm-studio",
    error={"error": "{words}"},
    refuses={
        "json_object": No(400, "'response_format.type' must be 'json_schema' or 'text'"),
        "empty content": No(400, "'messages' must only contain objects with a 'content' field that is not empty."),
    },
    refuses_in_stream=frozenset(("overflow",)),
    overflow=No(
        400,
        "Trying to keep the first {given} tokens when context the overflows. However, the model is loaded with "
        "context length of only {limit} tokens, which is not enough.",
    ),
    reasoning="tag",
)

# A template that alternates, tools not switched on, one image: vllm-project/vllm#6862, #11842, #20409.
VLLM = Profile(
    name="vllm",
    error={"error": {"message": "{words}", "type": "BadRequestError", "param": None, "code": "{status}"}},
    refuses={
        "tools": No(
            400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        ),
        "second image": No(400, "At most 1 image(s) may be provided in one prompt."),
        "repeated role": No(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        "assistant first": No(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    },
    overflow=No(
        400,
        "This model's maximum context length is {limit} tokens. However, you requested {given} tokens "
        "({given} in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
    ),
    reasoning="reasoning",
)  # fmt: skip

# ggml-org/llama.cpp: tools/server; a template in which a system message may only come first; #14566 (errors).
LLAMA_CPP = Profile(
    name="llama.cpp",
    error={"error": {"code": "{status}", "message": "{words}", "type": "server_error"}},
    refuses={
        "image": No(500, "image input is not supported - hint: you may need to provide the mmproj"),
        "late system": No(500, "\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n... "
            "Error: Jinja Exception: System message must be at the beginning."),
    },
    overflow=No(400, "request ({given} tokens) exceeds the available context size ({limit} tokens), try increasing it",
        body={"error": {"code": 400, "message": "{words}", "type": "exceed_context_size_error",
            "n_prompt_tokens": "{given}", "n_ctx": "{limit}"}}),
    reasoning="reasoning_content",
    call_piece=3,
)  # fmt: skip

# Gemma and the first Mistral behind a server that lets their template fail: EricLBuehler/mistral.rs#45, #506.
NO_SYSTEM_ROLE = Profile(
    name="no-system-role",
    error="{words}",
    refuses={
        "tools": No(400, "this model does not support tools"),
        "response_format": No(400, "response_format is not supported"),
        "image": No(400, "messages[2].content must be a string"),
        "system": No(500, ""),
        "repeated role": No(500, "Conversation roles must alternate user/assistant/user/assistant/..."),
        "assistant first": No(500, "Conversation roles must alternate user/assistant/user/assistant/..."),
    },
    overflow=No(400, "the prompt exceeds the context length"),
    role_first=False,
    usage="never",
    done=False,
)

# A distilled reasoning model behind a server without a parser: open-webui/open-webui#9808, elizaOS/eliza#8189.
REASONING_ONLY = Profile(
    name="reasoning-only",
    model="deepseek-r1-distill-qwen-7b",
    error={"object": "error", "message": "{words}", "type": "BadRequestError", "param": None, "code": "{status}"},
    refuses={
        "tools": No(400, "scripted does not support tools"),
        "image": No(400, "scripted is not a multimodal model"),
        "json_schema": No(400, "structured output is not supported for reasoning models"),
        "json_object": No(400, "response_format is not supported for reasoning models"),
        "sent reasoning": No(400, "Extra inputs are not permitted: reasoning_content", param="reasoning_content"),
    },
    overflow=No(400, "The prompt (length {given}) is longer than the maximum model length of {limit}."),
    reasoning="open tag",
    thinks_always=1_000,
)

# Nobody's server and everybody's: what gateways, proxies and home-made servers did at one time or another (L08, L11,
# L21, L22), all at once.
HOSTILE = Profile(
    name="hostile",
    error=CODED_ERROR,
    knows=API_FIELDS,
    refuses={
        "unknown": No(422, "", body={"detail": [{
            "loc": "{path}", "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}]}),
        "stream_options": No(400, "stream_options: Extra inputs are not permitted"),
    },
    overflow=No(413, "prompt is too long: {given} tokens > {limit} maximum"),
    declines="SAFETY",
    reasoning="reasoning_content",
    prelude=(b"\xef\xbb\xbf: hello\n\n", b"\n\n", b"event: ping\ndata: {}\n\n", {"choices": []}),
    interlude=(b"retry: 3\n\n", {"choices": [{"index": 0, "delta": None}]}, b": \xf0\x9f\x91\xbb\n\n"),
    role_first=False,
    unfinished="",
    finishes={"stop": None, "length": "MAX_TOKENS", "tool_calls": "STOP"},
    call_piece=1,
    call_id="same",
    usage="every chunk",
    line_end=b"\r\n",
    done=False,
    write_bytes=3,
    stumbles=2,
)  # fmt: skip
