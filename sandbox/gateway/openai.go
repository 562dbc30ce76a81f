package gateway

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The accepted content of Chat Completions and Responses: functions and custom tools, which
// the client runs, and content in the request itself. State at the provider (stored answers,
// files, prompts, conversations, background work) is excluded: it could carry data out, and
// its use bypasses the meter.

// no is a switch that must be off.
var no = only("false", "null")

// none is a member that clients send empty.
var none = only("null")

// Priority processing costs more than the price table says.
var openAITiers = only(`"auto"`, `"default"`, `"flex"`, "null")

var chatParts = map[string]check{
	"text":      words("text"),
	"refusal":   words("refusal"),
	"image_url": open(map[string]check{"image_url": open(map[string]check{"url": dataURL})}),
	"file":      open(map[string]check{"file": closed(map[string]check{"filename": nil, "file_data": fileData})}),
}

// n multiplies the output, and audio has its own prices.
func chatFields() map[string]check {
	return with(map[string]check{
		"model": model,
		"messages": each(open(with(map[string]check{
			"content": textOr(each(partOf("", chatParts))),
			"audio":   none, // id of a stored answer
			"images":  none, // in some servers' answers: a picture in no part
		}, "name", "tool_calls", "function_call", "refusal", "reasoning", "reasoning_content", "reasoning_details"))),
		"tools": each(byType("", chatTools)),
		"tool_choice": textOr(byType("", merge(chatTools, map[string]check{
			"allowed_tools": closed(map[string]check{"type": nil, "allowed_tools": closed(map[string]check{
				"mode": nil, "tools": each(byType("", chatTools)),
			})}),
		}))),
		"functions":     each(closed(free("name", "description", "parameters"))),
		"function_call": textOr(closed(free("name"))),
		"modalities":    each(only(`"text"`)),
		"n":             only("1", "null"),
		"store":         no,
		"service_tier":  openAITiers,

		"prompt_cache_retention": retention,
		"prediction":             predicted,

		// These make the provider, or a routing server, search or choose.
		"web_search_options": refused, "plugins": refused, "models": refused, "best_of": refused,
	}, "max_tokens", "max_completion_tokens", "temperature", "top_p", "stream", "stream_options", "stop",
		"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "response_format",
		"seed", "parallel_tool_calls", "user", "safety_identifier", "prompt_cache_key",
		"reasoning_effort", "verbosity", "metadata")
}

// chatTools run in the client.
var chatTools = map[string]check{
	"function": closed(free("type", "function")),
	"custom":   closed(free("type", "custom")),
}

var responseParts = map[string]check{
	"input_text":     words("text"),
	"output_text":    words("text", "annotations", "logprobs"),
	"text":           words("text"),
	"refusal":        words("refusal"),
	"summary_text":   words("text"),
	"reasoning_text": words("text"),
	"input_image":    open(map[string]check{"image_url": dataURL, "file_id": none}),
	"input_file":     open(map[string]check{"filename": nil, "file_url": none, "file_id": none, "file_data": fileData}),
}

var responseContent = textOr(each(partOf("", responseParts)))

var responseOutput = open(map[string]check{"output": responseContent})

// item_reference is excluded, and so are items that a provider's tool makes or that bring
// tools of their own.
var responseItems = map[string]check{
	"message":                 responseMessage,
	"function_call":           words("name", "arguments"),
	"function_call_output":    responseOutput,
	"custom_tool_call":        words("name", "input"),
	"custom_tool_call_output": responseOutput,
	"reasoning":               words("summary", "content", "encrypted_content"),
	"local_shell_call":        words("action"),
	"local_shell_call_output": words("output"),
	"apply_patch_call":        words("operation"),
	"apply_patch_call_output": words("output"),
	// Codex sends its tools as an item and searches them itself.
	"additional_tools":   open(map[string]check{"tools": responseTools}),
	"tool_search_call":   open(with(map[string]check{"execution": byClient}, "arguments")),
	"tool_search_output": open(map[string]check{"execution": byClient, "tools": responseTools}),
}

// byClient is where a tool search must run.
var byClient = only(`"client"`)

// responseTools run in the client.
var responseTools = each(byType("", map[string]check{
	"function":    responseClientTools["function"],
	"custom":      responseClientTools["custom"],
	"local_shell": closed(free("type")),
	"apply_patch": closed(free("type")),
	"tool_search": closed(with(map[string]check{"execution": byClient}, "type", "description", "parameters")),
	// A group of the client's own tools, such as one MCP server's.
	"namespace": closed(with(map[string]check{"tools": each(byType("", responseClientTools))}, "type", "name", "description")),
}))

// responseMessage requires a role: an item with only an id is a reference to a stored one.
func responseMessage(v jsontext.Value, s *seen) error {
	f, err := decodeFields(v)
	if err != nil {
		return err
	}
	if f.get("role") == nil {
		return errors.New("an item without a role is a reference to what the provider keeps")
	}
	return f.open(map[string]check{"content": responseContent}, s)
}

// responseClientTools run in the client.
var responseClientTools = map[string]check{
	"function": closed(free("type", "name", "description", "parameters", "strict", "defer_loading")),
	"custom":   closed(free("type", "name", "description", "format")),
}

func responseFields() map[string]check {
	return with(map[string]check{
		"model":        model,
		"input":        textOr(each(partOf("message", responseItems))),
		"instructions": textOr(noText),
		"tools":        responseTools,
		"tool_choice": textOr(byType("", merge(responseChoices, map[string]check{
			"allowed_tools": closed(map[string]check{"type": nil, "mode": nil, "tools": each(byType("", responseChoices))}),
		}))),
		"include":              each(only(`"reasoning.encrypted_content"`, `"message.output_text.logprobs"`)),
		"store":                no,
		"background":           no,
		"previous_response_id": none,
		"conversation":         none,
		"prompt":               none,
		"service_tier":         openAITiers,

		"prompt_cache_retention": retention,
	}, "max_output_tokens", "temperature", "top_p", "stream", "stream_options", "parallel_tool_calls",
		"text", "reasoning", "truncation", "metadata", "user", "safety_identifier",
		"prompt_cache_key", "top_logprobs", "max_tool_calls")
}

// responseChoices name one of the client's tools.
var responseChoices = map[string]check{
	"function":    closed(free("type", "name")),
	"custom":      closed(free("type", "name")),
	"local_shell": closed(free("type")),
	"apply_patch": closed(free("type")),
}

func noText(jsontext.Value, *seen) error { return errors.New("not a string") }
