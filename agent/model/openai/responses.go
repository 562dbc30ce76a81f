package openai

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"git-ward/agent/model"
)

// Responses is a model behind the Responses API. Its reasoning goes back to it,
// encrypted, so that it need not think everything again each turn.
type Responses struct {
	Options
	service responses.ResponseService
}

// Turn asks for one turn. Its error is a *model.Trouble or the context's.
func (m *Responses) Turn(ctx context.Context, c *model.Conversation) (model.Reply, error) {
	params, err := m.params(c)
	if err != nil {
		return model.Reply{}, err
	}
	ctx, heard, stop := model.Listen(ctx, m.Silence)
	defer stop()
	stream := m.service.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		heard()
		switch event := stream.Current(); event.Type {
		case "response.completed", "response.incomplete":
			return replyOf(event.Response)
		case "response.failed":
			e := event.Response.Error
			return model.Reply{}, failed(fmt.Appendf(nil, `{"code":%q,"message":%q}`, e.Code, e.Message))
		case "error":
			return model.Reply{}, failed([]byte(event.RawJSON()))
		}
	}
	if err := stream.Err(); err != nil {
		return model.Reply{}, trouble(ctx, err)
	}
	return model.Reply{}, model.Lost(ctx, model.ErrCut)
}

func (m *Responses) params(c *model.Conversation) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{
		Model: m.ID, MaxOutputTokens: sdk.Int(m.Output), Store: sdk.Bool(false), Instructions: sdk.String(c.System),
		Include:        []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		PromptCacheKey: sdk.String("ward-" + c.Directive),
	}
	for _, t := range c.Tools {
		parameters, err := schema(t.Schema)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: sdk.String(t.Description), Parameters: parameters, Strict: sdk.Bool(false),
		}})
	}
	var input responses.ResponseInputParam
	for _, msg := range c.Messages {
		input = append(input, items(msg)...)
	}
	p.Input.OfInputItemList = input
	return p, nil
}

// items are a message's parts in the API's order: results first.
func items(m model.Message) []responses.ResponseInputItemUnionParam {
	var list []responses.ResponseInputItemUnionParam
	var native []json.RawMessage
	if m.Native != nil && json.Unmarshal(m.Native, &native) == nil {
		for _, raw := range native {
			list = append(list, param.Override[responses.ResponseInputItemUnionParam](raw))
		}
		return list
	}
	for _, r := range m.Results {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(r.Text)
		item.OfFunctionCallOutput.CallID = sdk.String(r.ID)
		list = append(list, item)
	}
	if m.Text != "" {
		role := responses.EasyInputMessageRoleUser
		if m.Role == model.Assistant {
			role = responses.EasyInputMessageRoleAssistant
		}
		list = append(list, responses.ResponseInputItemParamOfMessage(m.Text, role))
	}
	for _, call := range m.Calls {
		list = append(list, responses.ResponseInputItemParamOfFunctionCall(string(call.Args), call.ID, call.Name))
	}
	return list
}

func replyOf(v responses.Response) (model.Reply, error) {
	r := model.Reply{Usage: model.Usage{
		Input: v.Usage.InputTokens, Cached: v.Usage.InputTokensDetails.CachedTokens, Output: v.Usage.OutputTokens,
	}}
	switch v.IncompleteDetails.Reason {
	case "max_output_tokens":
		r.Stop = model.Truncated
	case "content_filter":
		r.Stop = model.Declined
	}
	var native []json.RawMessage
	for i, item := range v.Output {
		last := i == len(v.Output)-1
		raw := json.RawMessage(item.RawJSON())
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				if part.Type == "refusal" {
					r.Stop, r.Text = model.Declined, part.Refusal
				} else if part.Text != "" {
					r.AddText(part.Text)
				}
			}
		case "function_call":
			call := model.NewCall(item.CallID, item.Name, item.Arguments.OfString, r.Stop == model.Truncated && last)
			r.Calls = append(r.Calls, call)
			if call.Fault != "" {
				item := responses.ResponseInputItemParamOfFunctionCall("{}", call.ID, call.Name)
				raw, _ = json.Marshal(item) // texts: cannot fail
			}
		}
		native = append(native, raw)
	}
	if len(native) == 0 {
		return r, nil
	}
	var err error
	r.Native, err = json.Marshal(native)
	return r, err
}
