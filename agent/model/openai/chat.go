package openai

import (
	"context"
	"crypto/rand"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"git-ward/agent/model"
)

// Chat is a model behind the Chat Completions API.
type Chat struct {
	Options
	service sdk.ChatCompletionService
}

// Turn asks for one turn. Its error is a *model.Trouble or the context's.
func (m *Chat) Turn(ctx context.Context, c *model.Conversation) (model.Reply, error) {
	params, err := m.params(c)
	if err != nil {
		return model.Reply{}, err
	}
	ctx, heard, stop := model.Listen(ctx, m.Silence)
	defer stop()
	stream := m.service.NewStreaming(ctx, params)
	defer stream.Close()
	var a completion
	for stream.Next() {
		heard()
		a.take(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return model.Reply{}, trouble(ctx, err)
	}
	if a.finish == "" {
		return model.Reply{}, model.Lost(ctx, model.ErrCut)
	}
	return a.reply(), nil
}

func (m *Chat) params(c *model.Conversation) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{
		Model: m.ID, MaxCompletionTokens: sdk.Int(m.Output),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if c.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(c.System))
	}
	for _, t := range c.Tools {
		parameters, err := schema(t.Schema)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: sdk.String(t.Description), Parameters: parameters,
		}))
	}
	for _, msg := range c.Messages {
		p.Messages = append(p.Messages, chatMessages(msg)...)
	}
	return p, nil
}

// chatMessages are a message's parts: each tool result is a message, and they come first.
func chatMessages(m model.Message) []sdk.ChatCompletionMessageParamUnion {
	var list []sdk.ChatCompletionMessageParamUnion
	for _, r := range m.Results {
		list = append(list, sdk.ToolMessage(r.Text, r.ID))
	}
	if m.Role == model.User {
		if m.Text != "" {
			list = append(list, sdk.UserMessage(m.Text))
		}
		return list
	}
	turn := sdk.ChatCompletionAssistantMessageParam{}
	if m.Text != "" || len(m.Calls) == 0 {
		turn.Content.OfString = sdk.String(m.Text)
	}
	for _, call := range m.Calls {
		turn.ToolCalls = append(turn.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{ID: call.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: string(call.Args)}},
		})
	}
	return append(list, sdk.ChatCompletionMessageParamUnion{OfAssistant: &turn})
}

// completion collects a turn's chunks. The SDK's accumulator requires more order than local
// servers keep, so the few needed members are collected by hand.
type completion struct {
	text, refusal string
	calls         []chatCall
	finish        string
	usage         model.Usage
}

type chatCall struct {
	index          int64
	id, name, args string
}

func (a *completion) take(chunk sdk.ChatCompletionChunk) {
	if u := chunk.Usage; u.PromptTokens > 0 {
		a.usage = model.Usage{Input: u.PromptTokens, Cached: u.PromptTokensDetails.CachedTokens, Output: u.CompletionTokens}
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := chunk.Choices[0]
	a.text += choice.Delta.Content
	a.refusal += choice.Delta.Refusal
	for _, d := range choice.Delta.ToolCalls {
		call := a.call(d.Index, d.ID)
		call.name += d.Function.Name
		call.args += d.Function.Arguments
	}
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
}

// call finds the call that a piece belongs to, or begins one. Some servers send each call
// whole with the same index, some send no ids.
func (a *completion) call(index int64, id string) *chatCall {
	for i := range a.calls {
		if c := &a.calls[i]; c.index == index && (id == "" || id == c.id) {
			return c
		}
	}
	if id == "" {
		id = fmt.Sprintf("call_%s", rand.Text())
	}
	a.calls = append(a.calls, chatCall{index: index, id: id})
	return &a.calls[len(a.calls)-1]
}

func (a *completion) reply() model.Reply {
	r := model.Reply{Text: a.text, Usage: a.usage}
	switch {
	case a.finish == "length":
		r.Stop = model.Truncated
	case a.finish == "content_filter", a.refusal != "":
		r.Stop = model.Declined
		r.AddText(a.refusal)
	}
	for i, call := range a.calls {
		r.Calls = append(r.Calls, model.NewCall(call.id, call.name, call.args, r.Stop == model.Truncated && i == len(a.calls)-1))
	}
	return r
}
