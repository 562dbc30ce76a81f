// Package anthropic is a model behind Anthropic's Messages API: the real one, or
// any server that speaks it. It streams, so that long answers pass, and marks
// what the provider's prompt cache can keep.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"git-ward/agent/model"
)

// Options say which model, and where.
type Options struct {
	BaseURL string // without /v1
	Key     string
	ID      string        // the provider's name of the model
	Output  int64         // output limit of one turn
	Silence time.Duration // longest pause in a stream
}

// Model is one of Anthropic's.
type Model struct {
	Options
	service sdk.MessageService
}

// New makes a model. It takes nothing from the environment.
func New(o Options) *Model {
	return &Model{o, sdk.NewMessageService(
		option.WithBaseURL(o.BaseURL), option.WithAPIKey(o.Key),
		option.WithMaxRetries(0),                      // Patience retries, streams included
		option.WithHeader("User-Agent", "ward-agent"), // named when work is taken (PROOF-8)
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}),
	)}
}

// Turn asks for one turn. Its error is a *model.Trouble or the context's.
func (m *Model) Turn(ctx context.Context, c *model.Conversation) (model.Reply, error) {
	ctx, heard, stop := model.Listen(ctx, m.Silence)
	defer stop()
	stream := m.service.NewStreaming(ctx, m.params(c))
	defer stream.Close()
	a := answer{inputs: map[int64]string{}}
	for stream.Next() {
		heard()
		if err := a.take(stream.Current()); err != nil {
			return model.Reply{}, &model.Trouble{Kind: model.Broken, Err: err}
		}
	}
	if err := stream.Err(); err != nil {
		return model.Reply{}, trouble(ctx, err)
	}
	if !a.whole {
		return model.Reply{}, model.Lost(ctx, model.ErrCut)
	}
	return a.reply()
}

// trouble tells errors of the API from those of the connection.
func trouble(ctx context.Context, err error) error {
	var api *sdk.Error
	if !errors.As(err, &api) {
		return model.Lost(ctx, err)
	}
	var body struct {
		Error struct{ Message string }
	}
	message := api.RawJSON()
	if json.Unmarshal([]byte(message), &body) == nil && body.Error.Message != "" {
		message = body.Error.Message
	}
	return model.HTTP(api.StatusCode, string(api.Type()), message, api.Response.Header)
}

// params is the conversation in the API's form. It has two cache marks, each for everything
// before it: after tools and system prompt, and after the conversation so far, which the next
// turn finds in the cache.
func (m *Model) params(c *model.Conversation) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: m.ID, MaxTokens: m.Output}
	if c.System != "" {
		p.System = []sdk.TextBlockParam{{Text: c.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range c.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: t.Name, Description: sdk.String(t.Description), InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema),
		}})
	}
	for _, msg := range c.Messages {
		if msg.Role == model.Assistant {
			if content := assistant(msg); len(content) > 0 {
				p.Messages = append(p.Messages, sdk.NewAssistantMessage(content...))
			}
			continue
		}
		p.Messages = append(p.Messages, sdk.NewUserMessage(user(msg)...))
	}
	mark(p.Messages)
	return p
}

// user is the tools' results, which must come first, and the user's text.
func user(m model.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, r := range m.Results {
		blocks = append(blocks, sdk.NewToolResultBlock(r.ID, r.Text, r.IsError))
	}
	if m.Text != "" {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	return blocks
}

// assistant is a turn of the model, in the provider's own form if it has one.
func assistant(m model.Message) []sdk.ContentBlockParamUnion {
	var native []json.RawMessage
	var blocks []sdk.ContentBlockParamUnion
	if m.Native != nil && json.Unmarshal(m.Native, &native) == nil {
		for _, raw := range native {
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](raw))
		}
		return blocks
	}
	if m.Text != "" {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	for _, call := range m.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(call.ID, call.Args, call.Name))
	}
	return blocks
}

// mark puts the second mark on the last block of the last message.
func mark(messages []sdk.MessageParam) {
	if len(messages) == 0 {
		return
	}
	blocks := messages[len(messages)-1].Content
	if len(blocks) == 0 {
		return
	}
	if cache := blocks[len(blocks)-1].GetCacheControl(); cache != nil {
		*cache = sdk.NewCacheControlEphemeralParam()
	}
}
