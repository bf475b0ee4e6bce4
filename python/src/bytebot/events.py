"""The events of the wire, typed. Written by scripts/generate_events.py from the JSON Schema: do not edit.

A handler may say which one it takes (`def render(chunk: events.InferChunk)`); at run time each is a `bytebot.Event`.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


Block5 = TypedDict("Block5", {"type": "Literal['image', 'audio', 'file']", "mime_type": "str", "data": "str"})

Block: TypeAlias = "TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | Block5 | BlobBlock"

InputBlock2 = TypedDict("InputBlock2", {"type": "Literal['image', 'audio', 'file']", "mime_type": "str", "data": "str"})

InputBlock: TypeAlias = "TextBlock | InputBlock2 | BlobBlock"

TextBlock = TypedDict("TextBlock", {"type": "Literal['text']", "text": "str"})

ThinkingBlock = TypedDict(
    "ThinkingBlock",
    {"type": "Literal['thinking']", "thinking": "str", "signature": "NotRequired[str]", "origin": "NotRequired[str]"},
)

ToolUseBlock = TypedDict(
    "ToolUseBlock",
    {
        "type": "Literal['tool_use']",
        "id": "NotRequired[str]",
        "name": "str",
        "input": "Any",
        "alias": "NotRequired[str]",
    },
)

ToolResultBlockContentItem2 = TypedDict(
    "ToolResultBlockContentItem2", {"type": "Literal['image', 'audio', 'file']", "mime_type": "str", "data": "str"}
)

ToolResultBlock = TypedDict(
    "ToolResultBlock",
    {
        "type": "Literal['tool_result']",
        "tool_use_id": "str",
        "content": "list[TextBlock | ToolResultBlockContentItem2 | BlobBlock]",
        "is_error": "NotRequired[bool]",
    },
)

BlobBlock = TypedDict(
    "BlobBlock",
    {"type": "Literal['blob']", "ref": "str", "mime_type": "str", "size": "int", "name": "NotRequired[str]"},
)

Message = TypedDict("Message", {"role": "Literal['user', 'assistant']", "content": "list[Block]"})

OpenaiMessage1Content2Item = TypedDict("OpenaiMessage1Content2Item", {"type": "Literal['text']", "text": "str"})

OpenaiMessage1 = TypedDict(
    "OpenaiMessage1", {"role": "Literal['system', 'developer']", "content": "str | list[OpenaiMessage1Content2Item]"}
)

OpenaiMessageUserContent2ItemText = TypedDict(
    "OpenaiMessageUserContent2ItemText", {"type": "Literal['text']", "text": "str"}
)

OpenaiMessageUserContent2ItemImageUrlImageUrl = TypedDict(
    "OpenaiMessageUserContent2ItemImageUrlImageUrl", {"url": "str", "detail": "NotRequired[str]"}
)

OpenaiMessageUserContent2ItemImageUrl = TypedDict(
    "OpenaiMessageUserContent2ItemImageUrl",
    {"type": "Literal['image_url']", "image_url": "OpenaiMessageUserContent2ItemImageUrlImageUrl"},
)

OpenaiMessageUserContent2ItemInputAudioInputAudio = TypedDict(
    "OpenaiMessageUserContent2ItemInputAudioInputAudio", {"data": "str", "format": "str"}
)

OpenaiMessageUserContent2ItemInputAudio = TypedDict(
    "OpenaiMessageUserContent2ItemInputAudio",
    {"type": "Literal['input_audio']", "input_audio": "OpenaiMessageUserContent2ItemInputAudioInputAudio"},
)

OpenaiMessageUserContent2ItemFileFile = TypedDict(
    "OpenaiMessageUserContent2ItemFileFile",
    {"file_data": "NotRequired[str]", "filename": "NotRequired[str]", "file_id": "NotRequired[str]"},
)

OpenaiMessageUserContent2ItemFile = TypedDict(
    "OpenaiMessageUserContent2ItemFile", {"type": "Literal['file']", "file": "OpenaiMessageUserContent2ItemFileFile"}
)

OpenaiMessageUser = TypedDict(
    "OpenaiMessageUser",
    {
        "role": "Literal['user']",
        "content": "str | list[OpenaiMessageUserContent2ItemText | OpenaiMessageUserContent2ItemImageUrl | OpenaiMessageUserContent2ItemInputAudio | OpenaiMessageUserContent2ItemFile]",
    },
)

OpenaiMessageAssistantContent12ItemText = TypedDict(
    "OpenaiMessageAssistantContent12ItemText", {"type": "Literal['text']", "text": "str"}
)

OpenaiMessageAssistantContent12ItemRefusal = TypedDict(
    "OpenaiMessageAssistantContent12ItemRefusal", {"type": "Literal['refusal']", "refusal": "str"}
)

OpenaiMessageAssistantToolCalls1ItemFunction = TypedDict(
    "OpenaiMessageAssistantToolCalls1ItemFunction", {"name": "str", "arguments": "str"}
)

OpenaiMessageAssistantToolCalls1Item = TypedDict(
    "OpenaiMessageAssistantToolCalls1Item",
    {"id": "str", "type": "Literal['function']", "function": "OpenaiMessageAssistantToolCalls1ItemFunction"},
)

OpenaiMessageAssistant = TypedDict(
    "OpenaiMessageAssistant",
    {
        "role": "Literal['assistant']",
        "content": "NotRequired[str | list[OpenaiMessageAssistantContent12ItemText | OpenaiMessageAssistantContent12ItemRefusal] | None]",
        "refusal": "NotRequired[Any]",
        "tool_calls": "NotRequired[list[OpenaiMessageAssistantToolCalls1Item] | None]",
    },
)

OpenaiMessageToolContent2Item = TypedDict("OpenaiMessageToolContent2Item", {"type": "Literal['text']", "text": "str"})

OpenaiMessageTool = TypedDict(
    "OpenaiMessageTool",
    {"role": "Literal['tool']", "tool_call_id": "str", "content": "str | list[OpenaiMessageToolContent2Item]"},
)

OpenaiMessage: TypeAlias = "OpenaiMessage1 | OpenaiMessageUser | OpenaiMessageAssistant | OpenaiMessageTool"

OpenaiToolFunction = TypedDict(
    "OpenaiToolFunction",
    {"name": "str", "description": "NotRequired[str]", "parameters": "NotRequired[dict[str, Any]]"},
)

OpenaiTool = TypedDict("OpenaiTool", {"type": "Literal['function']", "function": "OpenaiToolFunction"})

OpenaiToolChoiceFunctionFunction = TypedDict("OpenaiToolChoiceFunctionFunction", {"name": "str"})

OpenaiToolChoiceFunction = TypedDict(
    "OpenaiToolChoiceFunction", {"type": "Literal['function']", "function": "OpenaiToolChoiceFunctionFunction"}
)

OpenaiToolChoice: TypeAlias = "Literal['auto', 'none', 'required'] | OpenaiToolChoiceFunction"

Usage = TypedDict(
    "Usage",
    {
        "input_tokens": "NotRequired[float]",
        "output_tokens": "NotRequired[float]",
        "cache_read_tokens": "NotRequired[float]",
        "cache_write_tokens": "NotRequired[float]",
    },
)

Error = TypedDict(
    "Error",
    {
        "code": "str",
        "message": "str",
        "retryable": "bool",
        "retry_after_ms": "NotRequired[float]",
        "data": "NotRequired[Any]",
    },
)

PolicyRule = TypedDict(
    "PolicyRule",
    {
        "tool": "str",
        "component": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "input": "NotRequired[dict[str, Any]]",
        "decision": "Literal['allow', 'ask', 'deny']",
        "approvers": "NotRequired[list[str]]",
        "remember_ms": "NotRequired[int]",
    },
)

ComponentInfo = TypedDict(
    "ComponentInfo",
    {
        "component_id": "str",
        "name": "str",
        "kind": "Literal['ui', 'context', 'infer', 'toolsource', 'telemetry']",
        "state": "Literal['new', 'synced', 'closed']",
        "primary": "bool",
        "controller": "bool",
    },
)

Sync = TypedDict(
    "Sync",
    {
        "event_type": "Literal['bb_sync']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "kind": "Literal['ui', 'context', 'infer', 'toolsource', 'telemetry']",
        "input_capable": "NotRequired[bool]",
        "primary": "NotRequired[bool]",
        "controller": "NotRequired[bool]",
        "owner": "NotRequired[bool]",
        "language": "NotRequired[str]",
        "protocol_version": "NotRequired[int]",
        "capabilities": "NotRequired[dict[str, Any]]",
        "name": "NotRequired[str]",
        "version": "NotRequired[str]",
        "scopes": "NotRequired[list[str]]",
        "types": "NotRequired[list[str]]",
        "resume": "NotRequired[Literal['start'] | list[str]]",
    },
)

SyncAckLimits = TypedDict(
    "SyncAckLimits", {"line_bytes": "int", "values": "int", "depth": "int", "blob_bytes": "NotRequired[int]"}
)

SyncAckHub = TypedDict("SyncAckHub", {"name": "str", "version": "str"})

SyncAck = TypedDict(
    "SyncAck",
    {
        "event_type": "Literal['bb_sync_ack']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "component_id": "str",
        "protocol_version": "int",
        "kind": "Literal['ui', 'context', 'infer', 'toolsource', 'telemetry']",
        "scopes": "list[str]",
        "input_capable": "bool",
        "primary": "bool",
        "controller": "bool",
        "principal": "NotRequired[str]",
        "limits": "SyncAckLimits",
        "hub": "SyncAckHub",
    },
)

Ping = TypedDict(
    "Ping",
    {
        "event_type": "Literal['bb_ping']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
    },
)

Pong = TypedDict(
    "Pong",
    {
        "event_type": "Literal['bb_pong']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
    },
)

Bye = TypedDict(
    "Bye",
    {
        "event_type": "Literal['bb_bye']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "reason": "str",
    },
)

ErrorEvent = TypedDict(
    "ErrorEvent",
    {
        "event_type": "Literal['bb_error']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "code": "str",
        "message": "str",
        "retryable": "bool",
        "retry_after_ms": "NotRequired[float]",
        "data": "NotRequired[Any]",
    },
)

Ack = TypedDict(
    "Ack",
    {
        "event_type": "Literal['bb_ack']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "fate": "NotRequired[Literal['started', 'queued', 'steering', 'refused', 'returned']]",
    },
)

Blob = TypedDict(
    "Blob",
    {
        "event_type": "Literal['bb_blob']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "part": "NotRequired[int]",
        "last": "NotRequired[bool]",
        "data": "NotRequired[str]",
        "ref": "NotRequired[str]",
        "size": "NotRequired[int]",
        "mime_type": "NotRequired[str]",
    },
)

UserEvent = TypedDict(
    "UserEvent",
    {
        "event_type": "Literal['user_event']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "type": "str",
        "text": "NotRequired[str]",
        "content": "NotRequired[list[InputBlock]]",
        "mode": "NotRequired[Literal['queue', 'steer', 'replace', 'refuse']]",
        "principal": "NotRequired[str]",
    },
)

Interrupt = TypedDict(
    "Interrupt",
    {
        "event_type": "Literal['interrupt']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "reason": "NotRequired[str]",
        "principal": "NotRequired[str]",
    },
)

InputState = TypedDict(
    "InputState",
    {
        "event_type": "Literal['input_state']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "fate": "Literal['started', 'queued', 'steering', 'refused', 'returned']",
    },
)

InputRequest = TypedDict(
    "InputRequest",
    {
        "event_type": "Literal['bb_input_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "prompt": "str",
        "schema": "NotRequired[dict[str, Any]]",
        "options": "NotRequired[list[str]]",
        "call_id": "NotRequired[str]",
        "expires_at": "NotRequired[float]",
    },
)

InputResult = TypedDict(
    "InputResult",
    {
        "event_type": "Literal['bb_input_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "outcome": "Literal['accepted', 'declined', 'cancelled', 'expired']",
        "value": "NotRequired[Any]",
    },
)

InputStrictApproval = TypedDict(
    "InputStrictApproval",
    {
        "name": "str",
        "input": "Any",
        "tool_hash": "str",
        "approvers": "NotRequired[list[str]]",
        "remember_ms": "NotRequired[float]",
    },
)

InputStrict = TypedDict(
    "InputStrict",
    {
        "event_type": "Literal['input_strict']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "primary": "NotRequired[bool]",
        "approval": "NotRequired[InputStrictApproval]",
        "prompt": "str",
        "schema": "NotRequired[dict[str, Any]]",
        "options": "NotRequired[list[str]]",
        "call_id": "NotRequired[str]",
        "expires_at": "NotRequired[float]",
    },
)

InputReply = TypedDict(
    "InputReply",
    {
        "event_type": "Literal['input_reply']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "outcome": "str",
        "value": "NotRequired[Any]",
        "expires_at": "NotRequired[float]",
        "principal": "NotRequired[str]",
    },
)

InputResolved = TypedDict(
    "InputResolved",
    {
        "event_type": "Literal['input_resolved']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "outcome": "Literal['accepted', 'declined', 'cancelled', 'expired']",
        "by": "NotRequired[str]",
        "principal": "NotRequired[str]",
        "choice": "NotRequired[str]",
        "expires_at": "NotRequired[float]",
    },
)

ContextRenderRequest1Infer = TypedDict("ContextRenderRequest1Infer", {"name": "str", "capabilities": "dict[str, Any]"})

ContextRenderRequest1ToolsItem = TypedDict(
    "ContextRenderRequest1ToolsItem",
    {"name": "str", "description": "NotRequired[str]", "input_schema": "dict[str, Any]"},
)

ContextRenderRequest1 = TypedDict(
    "ContextRenderRequest1",
    {
        "event_type": "Literal['bb_context_render_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "str",
        "round": "int",
        "infer": "NotRequired[ContextRenderRequest1Infer]",
        "history_whole": "NotRequired[bool]",
        "api_shape": "NotRequired[Literal['anthropic']]",
        "tools": "list[ContextRenderRequest1ToolsItem]",
        "history": "list[Message]",
    },
)

ContextRenderRequest2Infer = TypedDict("ContextRenderRequest2Infer", {"name": "str", "capabilities": "dict[str, Any]"})

ContextRenderRequest2 = TypedDict(
    "ContextRenderRequest2",
    {
        "event_type": "Literal['bb_context_render_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "str",
        "round": "int",
        "infer": "NotRequired[ContextRenderRequest2Infer]",
        "history_whole": "NotRequired[bool]",
        "api_shape": "Literal['openai']",
        "tools": "list[OpenaiTool]",
        "history": "list[OpenaiMessage]",
    },
)

ContextRenderRequest: TypeAlias = "ContextRenderRequest1 | ContextRenderRequest2"

ContextRenderResult1ToolsItem2 = TypedDict("ContextRenderResult1ToolsItem2", {"name": "str"})

ContextRenderResult1ToolChoice1 = TypedDict(
    "ContextRenderResult1ToolChoice1", {"type": "Literal['auto', 'any', 'none']"}
)

ContextRenderResult1ToolChoiceTool = TypedDict(
    "ContextRenderResult1ToolChoiceTool", {"type": "Literal['tool']", "name": "str"}
)

ContextRenderResult1 = TypedDict(
    "ContextRenderResult1",
    {
        "event_type": "Literal['bb_context_render_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "system": "NotRequired[str]",
        "infer": "NotRequired[str]",
        "model": "NotRequired[str]",
        "params": "NotRequired[dict[str, Any]]",
        "api_shape": "NotRequired[Literal['anthropic']]",
        "messages": "NotRequired[list[Message]]",
        "tools": "NotRequired[list[str | ContextRenderResult1ToolsItem2]]",
        "tool_choice": "NotRequired[ContextRenderResult1ToolChoice1 | ContextRenderResult1ToolChoiceTool]",
    },
)

ContextRenderResult2ToolsItem12 = TypedDict("ContextRenderResult2ToolsItem12", {"name": "str"})

ContextRenderResult2 = TypedDict(
    "ContextRenderResult2",
    {
        "event_type": "Literal['bb_context_render_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "system": "NotRequired[str]",
        "infer": "NotRequired[str]",
        "model": "NotRequired[str]",
        "params": "NotRequired[dict[str, Any]]",
        "api_shape": "Literal['openai']",
        "messages": "NotRequired[list[OpenaiMessage]]",
        "tools": "NotRequired[list[str | ContextRenderResult2ToolsItem12 | OpenaiTool]]",
        "tool_choice": "NotRequired[OpenaiToolChoice]",
    },
)

ContextRenderResult: TypeAlias = "ContextRenderResult1 | ContextRenderResult2"

InferRequest1ToolsItem = TypedDict(
    "InferRequest1ToolsItem", {"name": "str", "description": "NotRequired[str]", "input_schema": "dict[str, Any]"}
)

InferRequest1ToolChoice1 = TypedDict("InferRequest1ToolChoice1", {"type": "Literal['auto', 'any', 'none']"})

InferRequest1ToolChoiceTool = TypedDict("InferRequest1ToolChoiceTool", {"type": "Literal['tool']", "name": "str"})

InferRequest1 = TypedDict(
    "InferRequest1",
    {
        "event_type": "Literal['bb_infer_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "str",
        "stream": "bool",
        "round": "int",
        "attempt": "int",
        "model": "NotRequired[str]",
        "params": "NotRequired[dict[str, Any]]",
        "api_shape": "NotRequired[Literal['anthropic']]",
        "system": "NotRequired[str]",
        "messages": "list[Message]",
        "tools": "NotRequired[list[InferRequest1ToolsItem]]",
        "tool_choice": "NotRequired[InferRequest1ToolChoice1 | InferRequest1ToolChoiceTool]",
    },
)

InferRequest2 = TypedDict(
    "InferRequest2",
    {
        "event_type": "Literal['bb_infer_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "str",
        "stream": "bool",
        "round": "int",
        "attempt": "int",
        "model": "NotRequired[str]",
        "params": "NotRequired[dict[str, Any]]",
        "api_shape": "Literal['openai']",
        "messages": "list[OpenaiMessage]",
        "tools": "NotRequired[list[OpenaiTool]]",
        "tool_choice": "NotRequired[OpenaiToolChoice]",
    },
)

InferRequest: TypeAlias = "InferRequest1 | InferRequest2"

InferChunkBlockStart = TypedDict(
    "InferChunkBlockStart",
    {
        "event_type": "Literal['infer_chunk']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "NotRequired[str]",
        "round": "NotRequired[int]",
        "attempt": "NotRequired[int]",
        "n": "NotRequired[int]",
        "merged": "NotRequired[int]",
        "kind": "Literal['block_start']",
        "index": "int",
        "block_type": "Literal['text', 'thinking', 'tool_use']",
        "name": "NotRequired[str]",
    },
)

InferChunkBlockDelta = TypedDict(
    "InferChunkBlockDelta",
    {
        "event_type": "Literal['infer_chunk']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "NotRequired[str]",
        "round": "NotRequired[int]",
        "attempt": "NotRequired[int]",
        "n": "NotRequired[int]",
        "merged": "NotRequired[int]",
        "kind": "Literal['block_delta']",
        "index": "int",
        "block_type": "Literal['text', 'thinking', 'tool_use']",
        "delta": "str",
    },
)

InferChunkBlockStop = TypedDict(
    "InferChunkBlockStop",
    {
        "event_type": "Literal['infer_chunk']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "NotRequired[str]",
        "round": "NotRequired[int]",
        "attempt": "NotRequired[int]",
        "n": "NotRequired[int]",
        "merged": "NotRequired[int]",
        "kind": "Literal['block_stop']",
        "index": "int",
        "block": "NotRequired[Block]",
    },
)

InferChunkLoopDone = TypedDict(
    "InferChunkLoopDone",
    {
        "event_type": "Literal['infer_chunk']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "loop_id": "NotRequired[str]",
        "round": "NotRequired[int]",
        "attempt": "NotRequired[int]",
        "n": "NotRequired[int]",
        "merged": "NotRequired[int]",
        "kind": "Literal['loop_done']",
        "stop_reason": "Literal['end_turn', 'tool_use', 'max_tokens', 'refusal', 'interrupted', 'error']",
        "error": "NotRequired[Error]",
    },
)

InferChunk: TypeAlias = "InferChunkBlockStart | InferChunkBlockDelta | InferChunkBlockStop | InferChunkLoopDone"

InferResult = TypedDict(
    "InferResult",
    {
        "event_type": "Literal['bb_infer_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "loop_id": "NotRequired[str]",
        "stop_reason": "NotRequired[Literal['end_turn', 'tool_use', 'max_tokens', 'refusal', 'interrupted', 'error']]",
        "content": "NotRequired[list[Block]]",
        "usage": "NotRequired[Usage]",
    },
)

Cancel = TypedDict(
    "Cancel",
    {
        "event_type": "Literal['bb_cancel']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "target": "str",
        "reason": "NotRequired[str]",
    },
)

TurnRequestBudget = TypedDict(
    "TurnRequestBudget", {"tokens": "NotRequired[int]", "calls": "NotRequired[int]", "rounds": "NotRequired[int]"}
)

TurnRequest = TypedDict(
    "TurnRequest",
    {
        "event_type": "Literal['bb_turn_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "NotRequired[str]",
        "content": "str | list[InputBlock]",
        "principal": "NotRequired[str]",
        "budget": "NotRequired[TurnRequestBudget]",
    },
)

TurnResult = TypedDict(
    "TurnResult",
    {
        "event_type": "Literal['bb_turn_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "content": "NotRequired[list[Block]]",
        "stop_reason": "NotRequired[Literal['end_turn', 'tool_use', 'max_tokens', 'refusal', 'interrupted', 'error']]",
    },
)

ScopeState = TypedDict(
    "ScopeState",
    {
        "event_type": "Literal['scope_state']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "state": "Literal['running', 'idle']",
        "loop_id": "NotRequired[str]",
        "stop_reason": "NotRequired[Literal['end_turn', 'tool_use', 'max_tokens', 'refusal', 'interrupted', 'error']]",
    },
)

ToolRegisterToolsItemAnnotations = TypedDict(
    "ToolRegisterToolsItemAnnotations",
    {"read_only": "NotRequired[bool]", "destructive": "NotRequired[bool]", "idempotent": "NotRequired[bool]"},
)

ToolRegisterToolsItem = TypedDict(
    "ToolRegisterToolsItem",
    {
        "name": "str",
        "description": "NotRequired[str]",
        "input_schema": "dict[str, Any]",
        "annotations": "NotRequired[ToolRegisterToolsItemAnnotations]",
        "timeout_ms": "NotRequired[int]",
    },
)

ToolRegister = TypedDict(
    "ToolRegister",
    {
        "event_type": "Literal['bb_tool_register']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "tools": "list[ToolRegisterToolsItem]",
    },
)

ToolRegisterResultToolsItem = TypedDict(
    "ToolRegisterResultToolsItem", {"id": "str", "name": "str", "model_name": "str"}
)

ToolRegisterResult = TypedDict(
    "ToolRegisterResult",
    {
        "event_type": "Literal['bb_tool_register_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "tools": "NotRequired[list[ToolRegisterResultToolsItem]]",
    },
)

ToolCallRequest = TypedDict(
    "ToolCallRequest",
    {
        "event_type": "Literal['bb_tool_call_request']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "NotRequired[str]",
        "name": "str",
        "input": "Any",
        "loop_id": "NotRequired[str]",
        "deadline_ts": "NotRequired[float]",
        "principal": "NotRequired[str]",
        "approved_by": "NotRequired[str]",
    },
)

ToolProgress = TypedDict(
    "ToolProgress",
    {
        "event_type": "Literal['bb_tool_progress']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "str",
        "text": "NotRequired[str]",
        "fraction": "NotRequired[float]",
    },
)

ToolCallResultError = TypedDict("ToolCallResultError", {"code": "str", "message": "str", "retryable": "bool"})

ToolCallResult = TypedDict(
    "ToolCallResult",
    {
        "event_type": "Literal['bb_tool_call_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "NotRequired[str]",
        "success": "bool",
        "status": "NotRequired[Literal['ok', 'error', 'denied', 'cancelled', 'timeout', 'lost']]",
        "content": "NotRequired[list[InputBlock]]",
        "error": "NotRequired[ToolCallResultError]",
        "synthetic": "NotRequired[bool]",
    },
)

ToolCallShown = TypedDict(
    "ToolCallShown",
    {
        "event_type": "Literal['tool_call']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "str",
        "name": "str",
        "input": "Any",
        "loop_id": "NotRequired[str]",
        "principal": "NotRequired[str]",
        "approved_by": "NotRequired[str]",
    },
)

ToolProgressShown = TypedDict(
    "ToolProgressShown",
    {
        "event_type": "Literal['tool_progress']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "str",
        "text": "NotRequired[str]",
        "fraction": "NotRequired[float]",
    },
)

ToolResultShown = TypedDict(
    "ToolResultShown",
    {
        "event_type": "Literal['tool_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "call_id": "str",
        "name": "NotRequired[str]",
        "success": "bool",
        "status": "Literal['ok', 'error', 'denied', 'cancelled', 'timeout', 'lost']",
        "content": "NotRequired[list[InputBlock]]",
    },
)

Live = TypedDict(
    "Live",
    {
        "event_type": "Literal['bb_live']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
    },
)

SnapshotForkedFrom = TypedDict("SnapshotForkedFrom", {"scope": "str", "seq": "int"})

SnapshotStateOpenItem = TypedDict("SnapshotStateOpenItem", {"event_type": "str"})

SnapshotState = TypedDict(
    "SnapshotState", {"messages": "list[Message]", "open": "list[SnapshotStateOpenItem]", "more": "bool"}
)

Snapshot = TypedDict(
    "Snapshot",
    {
        "event_type": "Literal['bb_snapshot']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "forked_from": "NotRequired[SnapshotForkedFrom]",
        "title": "NotRequired[str]",
        "state": "NotRequired[SnapshotState]",
    },
)

HistoryRequest = TypedDict(
    "HistoryRequest",
    {
        "event_type": "Literal['bb_history_request']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "before": "NotRequired[str]",
        "limit": "NotRequired[int]",
    },
)

HistoryResultEventsItem = TypedDict("HistoryResultEventsItem", {"event_type": "str"})

HistoryResult = TypedDict(
    "HistoryResult",
    {
        "event_type": "Literal['bb_history_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "events": "NotRequired[list[HistoryResultEventsItem]]",
        "more": "NotRequired[bool]",
    },
)

Conversations = TypedDict(
    "Conversations",
    {
        "event_type": "Literal['bb_conversations']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "limit": "NotRequired[int]",
        "before": "NotRequired[str]",
    },
)

ConversationsResultConversationsItemForkedFrom = TypedDict(
    "ConversationsResultConversationsItemForkedFrom", {"scope": "str", "seq": "int"}
)

ConversationsResultConversationsItem = TypedDict(
    "ConversationsResultConversationsItem",
    {
        "scope": "str",
        "title": "NotRequired[str]",
        "last_activity": "float",
        "events": "int",
        "state": "Literal['running', 'idle']",
        "cursor": "str",
        "forked_from": "NotRequired[ConversationsResultConversationsItemForkedFrom]",
    },
)

ConversationsResult = TypedDict(
    "ConversationsResult",
    {
        "event_type": "Literal['bb_conversations_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "conversations": "NotRequired[list[ConversationsResultConversationsItem]]",
        "more": "NotRequired[bool]",
    },
)

Rename = TypedDict(
    "Rename",
    {
        "event_type": "Literal['bb_rename']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "title": "str",
        "principal": "NotRequired[str]",
    },
)

RenameResult = TypedDict(
    "RenameResult",
    {
        "event_type": "Literal['bb_rename_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
    },
)

Fork = TypedDict(
    "Fork",
    {
        "event_type": "Literal['bb_fork']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "at": "int",
        "to": "str",
    },
)

ForkResult = TypedDict(
    "ForkResult",
    {
        "event_type": "Literal['bb_fork_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "to": "NotRequired[str]",
    },
)

Delete = TypedDict(
    "Delete",
    {
        "event_type": "Literal['bb_delete']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "principal": "NotRequired[str]",
    },
)

DeleteResult = TypedDict(
    "DeleteResult",
    {
        "event_type": "Literal['bb_delete_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
    },
)

ConversationTitle = TypedDict(
    "ConversationTitle",
    {
        "event_type": "Literal['conversation_title']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "title": "str",
        "principal": "NotRequired[str]",
    },
)

ConversationDeleted = TypedDict(
    "ConversationDeleted",
    {
        "event_type": "Literal['conversation_deleted']",
        "id": "NotRequired[str]",
        "in_reply_to": "NotRequired[str]",
        "scope": "str",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "principal": "NotRequired[str]",
    },
)

Attach = TypedDict(
    "Attach",
    {
        "event_type": "Literal['bb_attach']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "ref": "str",
        "kind": "NotRequired[Literal['ui', 'context', 'infer', 'toolsource', 'telemetry']]",
        "opts": "NotRequired[dict[str, Any]]",
        "primary": "NotRequired[bool]",
    },
)

AttachResult = TypedDict(
    "AttachResult",
    {
        "event_type": "Literal['bb_attach_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "component_id": "NotRequired[str]",
    },
)

Detach = TypedDict(
    "Detach",
    {
        "event_type": "Literal['bb_detach']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "component_id": "str",
    },
)

DetachResult = TypedDict(
    "DetachResult",
    {
        "event_type": "Literal['bb_detach_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
    },
)

Policy = TypedDict(
    "Policy",
    {
        "event_type": "Literal['bb_policy']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "rules": "list[PolicyRule]",
    },
)

PolicyResult = TypedDict(
    "PolicyResult",
    {
        "event_type": "Literal['bb_policy_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
    },
)

Components = TypedDict(
    "Components",
    {
        "event_type": "Literal['bb_components']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
    },
)

ComponentsResult = TypedDict(
    "ComponentsResult",
    {
        "event_type": "Literal['bb_components_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "components": "NotRequired[list[ComponentInfo]]",
    },
)

TokenGrant = TypedDict(
    "TokenGrant",
    {
        "name": "NotRequired[str]",
        "kind": "NotRequired[Literal['ui', 'context', 'infer', 'toolsource', 'telemetry']]",
        "scopes": "NotRequired[list[str]]",
        "principal": "NotRequired[str]",
        "vouches": "NotRequired[bool]",
        "primary": "NotRequired[bool]",
        "controller": "NotRequired[bool]",
        "input_capable": "NotRequired[bool]",
        "content": "NotRequired[bool]",
    },
)

Token = TypedDict(
    "Token",
    {
        "event_type": "Literal['bb_token']",
        "id": "str",
        "in_reply_to": "NotRequired[str]",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "action": "Literal['mint', 'list', 'revoke']",
        "grant": "NotRequired[TokenGrant]",
        "expires_ms": "NotRequired[int]",
        "token_id": "NotRequired[str]",
    },
)

TokenResultTokensItemGrant = TypedDict(
    "TokenResultTokensItemGrant",
    {
        "name": "NotRequired[str]",
        "kind": "NotRequired[Literal['ui', 'context', 'infer', 'toolsource', 'telemetry']]",
        "scopes": "NotRequired[list[str]]",
        "principal": "NotRequired[str]",
        "vouches": "NotRequired[bool]",
        "primary": "NotRequired[bool]",
        "controller": "NotRequired[bool]",
        "input_capable": "NotRequired[bool]",
        "content": "NotRequired[bool]",
    },
)

TokenResultTokensItem = TypedDict(
    "TokenResultTokensItem",
    {
        "token_id": "str",
        "grant": "TokenResultTokensItemGrant",
        "made_by": "str",
        "made_at": "float",
        "expires_at": "NotRequired[float]",
    },
)

TokenResult = TypedDict(
    "TokenResult",
    {
        "event_type": "Literal['bb_token_result']",
        "id": "NotRequired[str]",
        "in_reply_to": "str",
        "scope": "NotRequired[str]",
        "seq": "NotRequired[int]",
        "cursor": "NotRequired[str]",
        "ts": "NotRequired[float]",
        "from": "NotRequired[str]",
        "observed": "NotRequired[bool]",
        "_meta": "NotRequired[dict[str, Any]]",
        "success": "bool",
        "error": "NotRequired[Error]",
        "token": "NotRequired[str]",
        "token_id": "NotRequired[str]",
        "expires_at": "NotRequired[float]",
        "tokens": "NotRequired[list[TokenResultTokensItem]]",
    },
)

EventType: TypeAlias = Literal[
    "bb_sync",
    "bb_sync_ack",
    "bb_ping",
    "bb_pong",
    "bb_bye",
    "bb_error",
    "bb_ack",
    "bb_blob",
    "user_event",
    "interrupt",
    "input_state",
    "bb_input_request",
    "bb_input_result",
    "input_strict",
    "input_reply",
    "input_resolved",
    "bb_context_render_request",
    "bb_context_render_result",
    "bb_infer_request",
    "infer_chunk",
    "bb_infer_result",
    "bb_cancel",
    "bb_turn_request",
    "bb_turn_result",
    "scope_state",
    "bb_tool_register",
    "bb_tool_register_result",
    "bb_tool_call_request",
    "bb_tool_progress",
    "bb_tool_call_result",
    "tool_call",
    "tool_progress",
    "tool_result",
    "bb_live",
    "bb_snapshot",
    "bb_history_request",
    "bb_history_result",
    "bb_conversations",
    "bb_conversations_result",
    "bb_rename",
    "bb_rename_result",
    "bb_fork",
    "bb_fork_result",
    "bb_delete",
    "bb_delete_result",
    "conversation_title",
    "conversation_deleted",
    "bb_attach",
    "bb_attach_result",
    "bb_detach",
    "bb_detach_result",
    "bb_policy",
    "bb_policy_result",
    "bb_components",
    "bb_components_result",
    "bb_token",
    "bb_token_result",
]
