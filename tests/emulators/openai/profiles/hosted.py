"""Profiles of model servers that companies run. Sources: the servers' own documentation and issue trackers, read in
November 2026; a profile holds what was true of a kind of model at some time, not of every model there.
"""

from tests.emulators.openai.profiles.profile import API_FIELDS, CODED_ERROR, No, Profile

# A reasoning model (gpt-5, o-series): platform.openai.com/docs; langchain-ai/langchain#26433, Flowise#5046.
OPENAI = Profile(
    name="openai",
    knows=API_FIELDS,
    refuses={
        "max_tokens": No(
            400,
            "Unsupported parameter: '{name}' is not supported with this model. Use 'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param="{name}",
        ),
        "temperature": No(
            400,
            "Unsupported value: '{name}' does not support 0.8 with this model. Only the default (1) is supported.",
            code="unsupported_value",
            param="{name}",
        ),
        "stop": No(
            400,
            "Unsupported parameter: '{name}' is not supported with this model.",
            code="unsupported_parameter",
            param="{name}",
        ),
        "unknown": No(400, "Unknown parameter: '{name}'.", code="unknown_parameter", param="{name}"),
    },
    overflow=No(
        400,
        "This model's maximum context length is {limit} tokens. However, your messages resulted in {given} tokens.",
        code="context_length_exceeded",
        param="messages",
    ),
    declines=No(
        400,
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        code="invalid_prompt",
    ),
)

# An API version of 2024 with its content filter: microsoft/semantic-kernel#3650, langchain-ai/langchain#18977.
AZURE = Profile(
    name="azure",
    knows=API_FIELDS,
    refuses={
        "stream_options": No(400, "Unrecognized request argument supplied: {name}"),
        "unknown": No(400, "Unrecognized request argument supplied: {name}"),
        "json_schema": No(
            400,
            "Invalid parameter: response_format value as json_schema is enabled only for later api versions.",
            param="response_format",
        ),
    },
    overflow=No(
        400,
        "This model's maximum context length is {limit} tokens. However, you requested {given} tokens "
        "({given} in the messages, 0 in the completion).",
        code="context_length_exceeded",
    ),
    declines=No(
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        code="content_filter",
    ),
    prelude=({"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},),
    interlude=({"id": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]},),
    usage="never",
)

# openrouter.ai/docs (streaming, errors); openai/openai-go#227, speakeasy-api/gram#921.
OPENROUTER = Profile(
    name="openrouter",
    error=CODED_ERROR,
    refuses={"image": No(404, "No endpoints found that support image input")},
    overflow=No(
        400,
        "This endpoint's maximum context length is {limit} tokens. However, you requested about {given} tokens "
        "({given} of text input). Please reduce the length of either one.",
    ),
    declines=No(
        403,
        "Input was flagged",
        body={
            "error": {
                "code": 403,
                "message": "scripted requires moderation. Your input was flagged for something.",
                "metadata": {"reasons": ["something"], "flagged_input": "...", "provider_name": "Scripted"},
            }
        },
    ),
    reasoning="reasoning",
    prelude=(b": OPENROUTER PROCESSING\n\n", b": OPENROUTER PROCESSING\n\n"),
    interlude=(b": OPENROUTER PROCESSING\n\n",),
    usage="last chunk",
)

# api-docs.deepseek.com (thinking mode, JSON output, rate limit); deepseek-ai/DeepSeek-R1#21, cc-switch-cli#170.
DEEPSEEK = Profile(
    name="deepseek",
    refuses={
        "repeated role": No(
            400,
            "scripted does not support successive user or assistant messages (messages[1] and messages[2] in your "
            "input). You should interleave the user/assistant messages in the message sequence.",
            code="invalid_request_error",
        ),
        "image": No(
            400,
            "Failed to deserialize the JSON body into the target type: {where}: unknown variant `image_url`, "
            "expected `text`",
            code="invalid_request_error",
        ),
        "lost reasoning": No(
            400,
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            code="invalid_request_error",
        ),
        "json_schema": No(400, "This response_format type is unavailable now", code="invalid_request_error"),
        "unasked json": No(
            400, "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
        ),
    },
    overflow=No(
        400,
        "This model's maximum context length is {limit} tokens. However, you requested {given} tokens "
        "({given} in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
        code="invalid_request_error",
    ),
    declines=No(400, "Content Exists Risk", code="invalid_request_error"),
    reasoning="reasoning_content",
    thinks_always=40,
    prelude=(b": keep-alive\n\n",),
    usage="last chunk",
)

# The OpenAI-compatible door of Gemini 3: ai.google.dev/gemini-api/docs/openai and /thought-signatures;
# googleapis/python-genai#2868, microsoft/autogen#4878, MinLL/SkyrimNet-GamePlugin#77.
GEMINI = Profile(
    name="gemini",
    error=[{"error": {"code": "{status}", "message": "{words}", "status": "INVALID_ARGUMENT"}}],
    knows=API_FIELDS - {"frequency_penalty", "presence_penalty", "seed", "logit_bias"},
    refuses={
        "unknown": No(400, 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'),
        "unnamed result": No(
            400, "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
        ),
        "lost signature": No(
            400,
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly. Additional data, function call `default_api:{name}` , position 2.",
        ),
    },
    overflow=No(400, "The input token count ({given}) exceeds the maximum number of tokens allowed ({limit})."),
    declines="content_filter: PROHIBITED_CONTENT",
    finishes={"tool_calls": "stop"},
    call_piece=0,
    call_id="empty",
    call_extra={"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}},
    usage="every chunk",
)

# docs.mistral.ai and mistral-common's validators; partITech/php-mistral#76, onyx-dot-app/onyx#6458, crush#279.
MISTRAL = Profile(
    name="mistral",
    error={"object": "error", "message": "{words}", "type": "invalid_request_error", "param": None, "code": "{code}"},
    knows=API_FIELDS - {"stream_options", "max_completion_tokens", "seed", "reasoning_effort", "logit_bias", "user"},
    refuses={
        "unknown": No(422, "", body={"object": "error", "message": {"detail": [{
            "type": "extra_forbidden", "loc": "{path}", "msg": "Extra inputs are not permitted", "input": "..."}]},
            "type": "invalid_request_error", "param": None, "code": None}),
        "names": No(422, "", body={"object": "error", "message": {"detail": [{
            "type": "extra_forbidden", "loc": "{path}", "msg": "Extra inputs are not permitted", "input": "..."}]},
            "type": "invalid_request_error", "param": None, "code": None}),
        "foreign call id": No(
            400, "Tool call id was {name} but must be a-z, A-Z, 0-9, with a length of 9.", code="3280"),
        "user after tool": No(400, "Unexpected role 'user' after role 'tool'", code="3230"),
        "repeated role": No(400, "After the optional system message, conversation roles must alternate user and "
            "assistant roles except for tool calls and results."),
        "assistant first": No(400, "Expected first message to be user or system, got assistant", code="3230"),
    },
    overflow=No(400, "Prompt contains {given} tokens and 0 draft tokens, too large for model with {limit} maximum "
        "context length", code="3051"),
    reasoning="parts",
    finishes={"length": "model_length"},
    call_piece=0,
    call_id="empty",
    usage="last chunk",
)  # fmt: skip
