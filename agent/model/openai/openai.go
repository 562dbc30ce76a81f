// Package openai is a model behind OpenAI's APIs: Responses, or Chat Completions,
// which most local servers speak. Both stream. The provider is told to keep
// nothing, so the whole conversation goes out each time; its prompt cache works by
// itself, on beginnings that stay the same.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"git-ward/agent/model"
)

// Options say which model, and where.
type Options struct {
	BaseURL string // with /v1
	Key     string
	ID      string        // the provider's name of the model
	Output  int64         // output limit of one turn
	Silence time.Duration // longest pause in a stream
}

// client is what both APIs need.
func client(o Options) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(o.BaseURL, "/") + "/"), option.WithAPIKey(o.Key),
		option.WithMaxRetries(0),                      // Patience retries, streams included
		option.WithHeader("User-Agent", "ward-agent"), // named when work is taken (PROOF-8)
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}),
	}
}

// NewResponses makes a model that is asked by the Responses API.
func NewResponses(o Options) *Responses {
	return &Responses{o, responses.NewResponseService(client(o)...)}
}

// NewChat makes a model that is asked by the Chat Completions API.
func NewChat(o Options) *Chat { return &Chat{o, sdk.NewChatCompletionService(client(o)...)} }

// trouble tells errors of the API from those of the connection.
func trouble(ctx context.Context, err error) error {
	var api *sdk.Error
	var event *ssestream.StreamError
	switch {
	case errors.As(err, &api):
		return model.HTTP(api.StatusCode, cmp.Or(api.Code, api.Type), cmp.Or(api.Message, api.RawJSON()), api.Response.Header)
	case errors.As(err, &event):
		return failed(event.Event.Data)
	}
	return model.Lost(ctx, err)
}

// failed classifies an error that came as an event. Its status was 200, so only its type tells
// its kind; an unknown type counts as the server's fault.
func failed(data []byte) error {
	var e struct {
		Code, Message string
		Error         struct{ Code, Type, Message string }
	}
	if json.Unmarshal(data, &e) != nil {
		e.Message = string(data)
	}
	kind := cmp.Or(e.Code, e.Error.Code, e.Error.Type)
	t := model.HTTP(http.StatusOK, kind, cmp.Or(e.Message, e.Error.Message), http.Header{})
	if t.Kind == model.Fatal {
		t.Kind = model.Broken
	}
	return t
}

// schema is a tool's schema in the SDK's form.
func schema(raw json.RawMessage) (map[string]any, error) {
	var m map[string]any
	err := json.Unmarshal(raw, &m)
	return m, err
}
