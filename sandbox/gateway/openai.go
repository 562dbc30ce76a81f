package gateway

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// What Chat Completions and Responses may carry: functions and custom tools,
// which the client runs, and content that is in the request itself. State that
// the provider keeps (stored answers, files, prompts, conversations, background
// work) is out: it is a place to leave things, and its use escapes the meter.

// no is the value of a switch that must stay off.
var no = only("false", "null")

// none is the value of a member that clients send empty.
var none = only("null")

// Priority processing costs more than the price table says.
var openAITiers = only(`"auto"`, `"default"`, `"flex"`, "null")

var chatParts = map[string]check{
	"text":      nil,
	"refusal":   nil,
	"image_url": open(map[string]check{"image_url": open(map[string]check{"url": dataURL})}),
	"file":      open(map[string]check{"file": closed(map[string]check{"filename": nil, "file_data": fileData})}),
}

// web_search_options is out; so are n, which multiplies the output, and sound, which has
// prices of its own.
var chatFields = with(map[string]check{
	"model": model,
	"messages": each(open(map[string]check{
		"content": textOr(each(byType("", chatParts))),
		"audio":   none, // the id of an answer that is stored
		"images":  none, // of some servers' answers: a picture that no part names
	})),
	"tools": each(byType("", map[string]check{
		"function": closed(free("type", "function")),
		"custom":   closed(free("type", "custom")),
	})),
	"modalities":   each(only(`"text"`)),
	"n":            only("1", "null"),
	"store":        no,
	"service_tier": openAITiers,

	"prompt_cache_retention": retention,
	"prediction":             predicted,
}, "max_tokens", "max_completion_tokens", "temperature", "top_p", "stream", "stream_options", "stop",
	"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "response_format",
	"seed", "tool_choice", "parallel_tool_calls", "user", "safety_identifier", "prompt_cache_key",
	"reasoning_effort", "verbosity", "metadata", "functions", "function_call")

var responseParts = with(map[string]check{
	"input_image": open(map[string]check{"image_url": dataURL, "file_id": none}),
	"input_file":  open(map[string]check{"file_url": none, "file_id": none, "file_data": fileData}),
}, "input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text")

var responseContent = textOr(each(byType("", responseParts)))

var responseOutput = open(map[string]check{"output": responseContent})

// item_reference is out, and so is every item that a provider's tool makes or
// that brings tools of its own.
var responseItems = with(map[string]check{
	"message":                 responseMessage,
	"function_call_output":    responseOutput,
	"custom_tool_call_output": responseOutput,
}, "function_call", "custom_tool_call", "reasoning", "local_shell_call", "local_shell_call_output",
	"apply_patch_call", "apply_patch_call_output")

// responseMessage insists on a role: an item of an id alone, without a type, is
// a reference to a stored one.
func responseMessage(v jsontext.Value, s *seen) error {
	f, err := decodeFields(v)
	if err != nil {
		return err
	}
	if f.get("role") == nil {
		return errors.New("an item without a role is a reference to what the provider keeps")
	}
	return responseContent.run(orNull(f.get("content")), s, "content")
}

// telemetry is where Codex tells the provider of the machine it runs on and of the
// repository: nothing that an answer needs.
const telemetry = "client_metadata"

// responseClientTools run in the client.
var responseClientTools = map[string]check{
	"function": closed(free("type", "name", "description", "parameters", "strict", "defer_loading")),
	"custom":   closed(free("type", "name", "description", "format")),
}

var responseFields = with(map[string]check{
	"model":        model,
	"input":        textOr(each(byType("message", responseItems))),
	"instructions": textOr(refuse),
	"tools": each(byType("", map[string]check{
		"function":    responseClientTools["function"],
		"custom":      responseClientTools["custom"],
		"local_shell": closed(free("type")),
		"apply_patch": closed(free("type")),
		// A group of the client's own, such as those of one MCP server.
		"namespace": closed(with(map[string]check{"tools": each(byType("", responseClientTools))}, "type", "name", "description")),
	})),
	"include":              each(only(`"reasoning.encrypted_content"`, `"message.output_text.logprobs"`)),
	"store":                no,
	"background":           no,
	"previous_response_id": none,
	"conversation":         none,
	"prompt":               none,
	telemetry:              nil, // taken out again
	"service_tier":         openAITiers,

	"prompt_cache_retention": retention,
}, "max_output_tokens", "temperature", "top_p", "stream", "stream_options", "tool_choice",
	"parallel_tool_calls", "text", "reasoning", "truncation", "metadata", "user", "safety_identifier",
	"prompt_cache_key", "top_logprobs", "max_tool_calls")

func refuse(jsontext.Value, *seen) error { return errors.New("not a string") }
