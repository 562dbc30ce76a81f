package gateway

// The accepted content of the Messages API. It has tools that run in the client. It excludes
// tools that the provider runs (web_search, web_fetch, code_execution, tool search, MCP),
// sources that it would fetch, and files that it stores.

var anthropicText = map[string]check{"text": words("text", "citations")}

var anthropicSources = map[string]check{
	"base64": documented,
	"text":   words("data"),
	"content": open(map[string]check{
		"content": textOr(each(partOf("", merge(anthropicText, map[string]check{"image": anthropicImage})))),
	}),
}

var anthropicImage = open(map[string]check{"source": byType("", map[string]check{"base64": pictured})})

var anthropicResults = map[string]check{
	"text":           anthropicText["text"],
	"image":          anthropicImage,
	"document":       open(with(map[string]check{"source": byType("", anthropicSources)}, "title", "context")),
	"search_result":  anthropicFound,
	"tool_reference": words("tool_name"),
}

// anthropicFound comes from the client; its source is only a label.
var anthropicFound = open(with(map[string]check{"content": each(byType("", anthropicText))}, "source", "title"))

var anthropicBlocks = map[string]check{
	"text":              anthropicText["text"],
	"thinking":          words("thinking", "signature"),
	"redacted_thinking": words("data"),
	"tool_use":          open(with(map[string]check{"caller": byType("", map[string]check{"direct": closed(free("type"))})}, "name", "input")),
	"tool_result":       open(map[string]check{"content": textOr(each(partOf("", anthropicResults)))}),
	"image":             anthropicResults["image"],
	"document":          anthropicResults["document"],
	"search_result":     anthropicFound,
}

var anthropicTools = map[string]check{
	"custom": closed(free("type", "name", "description", "input_schema", "cache_control", "strict",
		"eager_input_streaming", "defer_loading", "input_examples")),
	"bash_DATE":        anthropicOwnTool,
	"text_editor_DATE": anthropicOwnTool,
	"memory_DATE":      anthropicOwnTool,
}

var anthropicOwnTool = ownTool(closed(free("type", "name", "cache_control", "strict", "max_characters", "input_examples")))

func anthropicCount() map[string]check {
	return with(map[string]check{
		"model":    model,
		"messages": each(open(map[string]check{"content": textOr(each(partOf("", anthropicBlocks)))})),
		"system":   textOr(each(partOf("", anthropicText))),
		"tools":    each(byType("custom", anthropicTools)),
		// Compaction is billed outside the usage that is counted here.
		"context_management": open(map[string]check{"edits": each(byType("", free("clear_tool_uses_DATE", "clear_thinking_DATE")))}),
		"thinking":           thoughts,
		"cache_control":      cacheControl,
		// These make the provider act,
		"mcp_servers": refused, "container": refused,
		// and these cost more than the price table says.
		"speed": refused, "inference_geo": refused,
		"tool_choice": textOr(byType("", map[string]check{
			"auto": anthropicChoice, "any": anthropicChoice, "none": anthropicChoice, "tool": anthropicChoice,
		})),
	}, "output_config", "output_format")
}

var anthropicChoice = closed(free("type", "name", "disable_parallel_tool_use"))

func anthropicMessages() map[string]check {
	return merge(anthropicCount(), with(map[string]check{
		"service_tier": only(`"auto"`, `"standard_only"`),
	}, "max_tokens", "metadata", "stop_sequences", "stream", "temperature", "top_k", "top_p"))
}

// anthropicBetas are the features, without dates, that a client may enable by header. Others
// are dropped: they are for refused content anyway, or change the price (context-1m).
var anthropicBetas = []string{
	"interleaved-thinking", "fine-grained-tool-streaming", "prompt-caching", "extended-cache-ttl",
	"token-efficient-tools", "output-128k", "max-tokens-3-5-sonnet", "claude-code", "context-management",
	"effort", "structured-outputs", "token-counting", "pdfs", "tool-examples", "dev-full-thinking",
	"redact-thinking", "prompt-caching-scope",
}
