package gateway

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMostThatACallCosts: what a request can cost beyond its text is reserved: pictures and
// documents whatever their bytes, a provider's own tools, predictions, thoughts without the
// bound on the output, and writing to the cache.
func TestMostThatACallCosts(t *testing.T) {
	g := &Gateway{}
	all, err := g.providers()
	if err != nil {
		t.Fatal(err)
	}
	const picturePart = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"DATA"}}`
	message := func(content, more string) string {
		return `{"model":"claude-test","max_tokens":1000,"messages":[{"role":"user","content":[` + content + `]}]` + more + `}`
	}
	data := strings.Repeat("A", 10_000)
	for _, c := range []struct {
		name, path, body string
		input, output    int64 // beyond the bytes of text and what is hidden
		price            string
	}{
		{"a text", "/v1/messages", message(`{"type":"text","text":"hi"}`, ""), 0, 1000, "3.00"},
		{"a picture", "/v1/messages", message(picturePart, ""), picture, 1000, "3.00"},
		{"three pictures", "/v1/messages", message(picturePart+","+picturePart+","+picturePart, ""), 3 * picture, 1000, "3.00"},
		{"a picture in a result", "/v1/messages", message(`{"type":"tool_result","tool_use_id":"1","content":[`+picturePart+`]}`, ""), picture, 1000, "3.00"},
		{"a picture in a document", "/v1/messages", message(`{"type":"document","source":{"type":"content","content":[`+picturePart+`]}}`, ""), picture, 1000, "3.00"},
		{"documents", "/v1/messages", message(strings.Replace(strings.Replace(picturePart, "image", "document", 1), "image/png", "application/pdf", 1), ""), window, 1000, "3.00"},
		{"own tools", "/v1/messages", message("", `,"tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e"}]`), 2 * toolPrompt, 1000, "3.00"},
		{"thoughts within", "/v1/messages", message("", `,"thinking":{"type":"enabled","budget_tokens":999}`), 0, 1000, "3.00"},
		{"thoughts beyond", "/v1/messages", message("", `,"thinking":{"type":"enabled","budget_tokens":5000}`), 0, 6000, "3.00"},
		{"a cache", "/v1/messages", message(`{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`, ""), 0, 1000, "3.75"},
		{"a cache for all", "/v1/messages", message("", `,"cache_control":{"type":"ephemeral","ttl":"1h"}`), 0, 1000, "6.00"},
		{"a cache of a tool", "/v1/messages", message("", `,"tools":[{"name":"x","input_schema":{},"cache_control":{"type":"ephemeral"}}]`), 0, 1000, "3.75"},
		{"a chat's picture", "/v1/chat/completions", `{"model":"gpt-test","max_tokens":1000,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,DATA"}}]}]}`, picture, 1000, "1.25"},
		{"a small model's picture", "/v1/chat/completions", `{"model":"gpt-4o-mini","max_tokens":1000,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,DATA"}}]}]}`, dearPicture, 1000, "3.00"},
		{"a chat's document", "/v1/chat/completions", `{"model":"gpt-test","max_tokens":1000,"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,DATA"}}]}]}`, window, 1000, "1.25"},
		{"no picture", "/v1/chat/completions", `{"model":"gpt-test","max_tokens":1000,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:application/pdf;base64,DATA"}}]}]}`, window, 1000, "1.25"},
		{"a prediction", "/v1/chat/completions", `{"model":"gpt-test","max_tokens":1000,"messages":[],"prediction":{"type":"content","content":"xx"}}`, 0, 1000 + 33, "1.25"},
		{"the larger bound", "/v1/chat/completions", `{"model":"gpt-test","max_tokens":1,"max_completion_tokens":1000,"messages":[]}`, 0, 1000, "1.25"},
		{"a response's picture", "/v1/responses", `{"model":"gpt-test","max_output_tokens":1000,"input":[{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":"data:image/png;base64,DATA"}]}]}`, picture, 1000, "1.25"},
	} {
		p := all["openai"]
		if c.path == "/v1/messages" {
			p = all["anthropic"]
		}
		// Bytes of a picture are not read as text, however many there are.
		var most [2]Charge
		prices, _ := NewPrices(testPrices)
		for i, d := range []string{"", data} {
			body := strings.ReplaceAll(c.body, "DATA", d)
			call, err := p.endpoints[c.path].read([]byte(body), Limits{}.withDefaults(), seen{models: []string{"claude-test", "gpt-test", "gpt-4o-mini"}, official: true})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			price := prices.Of(call.model)
			most[i] = call.most(price)
			text := int64(len(body)) - call.seen.media
			if most[i].Usage.Input != text+hidden+c.input || most[i].Usage.Output != c.output {
				t.Errorf("%s: %+v, want %d and %d", c.name, most[i].Usage, text+hidden+c.input, c.output)
			}
			if got := call.seen.dear(price).Input.String(); got != c.price {
				t.Errorf("%s: $%s a million, want %s", c.name, got, c.price)
			}
		}
		if most[0].Usage != most[1].Usage {
			t.Errorf("%s: %+v, with more data %+v", c.name, most[0].Usage, most[1].Usage)
		}
	}
}

// TestOfficialServers: what costs more elsewhere, or does more, is admitted where the server
// is the provider's own, and a client cannot choose OpenAI's dearer processing.
func TestOfficialServers(t *testing.T) {
	for text, want := range map[string]bool{"": true, "https://api.openai.com": true, "https://eu.api.openai.com/x": true, "https://api.openai.com.example.com": false,
		"https://api.openai.com@example.com": false, "http://127.0.0.1:1": false, "https://apiXopenai.com": false, "https://router.example.com/api": false} {
		g := &Gateway{config: Config{OpenAI: Provider{BaseURL: text}}}
		all, err := g.providers()
		if err == nil && all["openai"].official != want || err != nil && want {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	g := &Gateway{}
	all, _ := g.providers()
	for _, c := range []struct {
		path, body string
		official   bool
		want       string
	}{
		{"/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":5,"store":false,"service_tier":"auto"}`, true, `"service_tier":"default"`},
		{"/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":5,"store":false}`, true, `"service_tier":"default"`},
		{"/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":5,"store":false,"service_tier":"flex"}`, true, `"service_tier":"flex"`},
		{"/v1/chat/completions", `{"model":"gpt-test","messages":[],"max_tokens":5,"service_tier":null}`, true, `"service_tier":"default"`},
		{"/v1/chat/completions", `{"model":"gpt-test","messages":[],"max_tokens":5,"service_tier":"auto"}`, false, `"service_tier":"auto"`},
		{"/v1/chat/completions", `{"model":"gpt-test","messages":[],"max_tokens":5,"prompt_cache_retention":"24h"}`, true, `"24h"`},
		{"/v1/chat/completions", `{"model":"gpt-test","messages":[],"max_tokens":5,"prompt_cache_retention":"24h"}`, false, ""},
		{"/v1/chat/completions", `{"model":"gpt-test","messages":[],"max_tokens":5,"prompt_cache_retention":"in_memory"}`, false, `"in_memory"`},
	} {
		call, err := all["openai"].endpoints[c.path].read([]byte(c.body), Limits{}.withDefaults(), seen{models: []string{"gpt-test"}, official: c.official})
		if (err == nil) != (c.want != "") || err == nil && !strings.Contains(string(joined(call.parts)), c.want) {
			t.Errorf("%s, official %v: %v, want %s", c.body, c.official, err, c.want)
		}
	}
}

func joined(parts [][]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// TestLastCallRunsAlone: what is left of a budget can be spent, by one call at a time, and
// one that is killed meanwhile has spent it.
func TestLastCallRunsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	m, err := OpenMeter(path)
	if err != nil {
		t.Fatal(err)
	}
	most, thought := Charge{Calls: 1, Usage: Usage{Input: 900, Output: 100}}, Charge{Calls: 1, Usage: Usage{Input: 300, Output: 100}}
	budget := Budget{Tokens: 600, Cost: Unlimited}
	first, err := m.Reserve(context.Background(), "D-1", budget, most, thought)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // it would wait for the first one
	if _, err := m.Reserve(gone, "D-1", budget, Charge{Calls: 1, Usage: Usage{Input: 1}}, Charge{Calls: 1}); err == nil {
		t.Error("another call runs beside one that may use all that is left")
	}
	first.Settle(Charge{Calls: 1, Usage: Usage{Input: 50, Output: 10}}, 0, false)
	if _, err := m.Reserve(context.Background(), "D-1", budget, most, thought); err != nil {
		t.Error(err)
	}
	m.Close()
	if m, err = OpenMeter(path); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Reserve(context.Background(), "D-1", budget, thought, thought); err == nil || accountOf(m, "D-1").Used.Usage.Tokens() != 600 {
		t.Errorf("after a kill: %v %+v", err, accountOf(m, "D-1"))
	}
	if _, err := m.Reserve(context.Background(), "D-2", Budget{Tokens: 300, Cost: Unlimited}, most, thought); err == nil {
		t.Error("a call is admitted that is thought to use more than there is")
	}
}

// TestErrorsThatTookLong: an error of the provider's costs nothing, unless it took so long
// that the model may have worked meanwhile.
func TestErrorsThatTookLong(t *testing.T) {
	for _, c := range []struct {
		status int
		took   time.Duration
		free   bool
	}{
		{500, 0, true}, {503, 9 * time.Second, true}, {504, 11 * time.Second, false}, {524, 100 * time.Second, false}, {400, 20 * time.Second, true}, {429, 20 * time.Second, true},
	} {
		x := &exchange{g: &Gateway{}, call: &call{input: 100, output: 10}, endpoint: &endpoint{}, answered: c.status, sent: time.Now().Add(-c.took)}
		x.reached.Store(true)
		x.use(x.call.most(Price{}), Price{})
		if (x.used.Usage.Tokens() == 0) != c.free {
			t.Errorf("%d %s after %v: %+v", c.status, http.StatusText(c.status), c.took, x.used)
		}
	}
}
