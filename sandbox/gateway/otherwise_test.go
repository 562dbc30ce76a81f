package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
)

// TestServersThatCountOtherwise: counts as they are told by servers that are not the
// providers' own, or by an end that is none. Nothing that is billed is left out.
func TestServersThatCountOtherwise(t *testing.T) {
	const (
		messages, chat = "/anthropic/v1/messages", "/openai/v1/chat/completions"
		chunk          = `data: {"object":"chat.completion.chunk","choices":[],"usage":`
	)
	running := strings.Replace(messageDelta, `"end_turn"`, "null", 1)
	inMessage, inChat := int64(len(messageBody))+hidden, int64(len(chatBody))+hidden
	for name, c := range map[string]struct {
		path   string
		events []string
		want   Usage
	}{
		"thoughts in the sum alone": {chat, []string{chatText, chunk + `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135}}`}, usageOf(32, 103, 0, 0, 0)},
		"in a whole answer":         {chat, []string{`{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135}}`}, usageOf(32, 103, 0, 0, 0)},
		"a sum without its parts":   {chat, []string{chatText, chunk + `{"total_tokens":135}}`}, usageOf(inChat, 1000, 0, 0, 0)},
		"writing to the cache":      {chat, []string{chatText, chunk + `{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":70}}}`}, usageOf(10, 9, 20, 70, 0)},
		"another name of it":        {chat, []string{chatText, chunk + `{"prompt_tokens":100,"completion_tokens":9,"cache_creation_input_tokens":70}}`}, usageOf(30, 9, 0, 70, 0)},
		"more written than taken":   {chat, []string{chatText, chunk + `{"prompt_tokens":100,"completion_tokens":9,"cache_creation_input_tokens":700}}`}, usageOf(0, 9, 0, 100, 0)},

		"counts before words": {chat, []string{chunk + `{"prompt_tokens":30,"completion_tokens":1}}`, chatText, chatText}, usageOf(30, 1000, 0, 0, 0)},
		"counts of nothing":   {chat, []string{chunk + `{"prompt_tokens":30,"completion_tokens":0}}`}, usageOf(30, 1000, 0, 0, 0)},
		"counts twice":        {chat, []string{chatText, chunk + `{"prompt_tokens":30,"completion_tokens":1}}`, chunk + `{"prompt_tokens":30,"completion_tokens":7}}`}, usageOf(30, 7, 0, 0, 0)},
		"counts, then less":   {chat, []string{chatText, chunk + `{"prompt_tokens":30,"completion_tokens":7}}`, chunk + `{"prompt_tokens":3,"completion_tokens":1}}`}, usageOf(30, 7, 0, 0, 0)},

		"a count so far":           {messages, []string{messageStart, messageText, running}, usageOf(25, 1000, 1000, 100, 200)},
		"words after the end":      {messages, []string{messageStart, messageDelta, messageText}, usageOf(25, 1000, 1000, 100, 200)},
		"a cache without an input": {messages, []string{strings.Replace(messageStart, `"input_tokens":25`, `"input_tokens":"25"`, 1), messageDelta}, usageOf(inMessage, 1000, 0, 0, 0)},
		"an odd count of a cache":  {messages, []string{strings.Replace(messageStart, `_input_tokens":300`, `_input_tokens":-300`, 1), messageDelta}, usageOf(25, 1000, 1000, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFence(t, newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
				if strings.HasPrefix(c.events[0], "{") {
					answerJSON(w, 200, c.events[0])
					return
				}
				stream(w, c.events...)
			}).URL)
			f.post(c.path, map[string]string{messages: messageBody, chat: chatBody}[c.path])
			if a := f.account(); a.Used.Usage != c.want {
				t.Errorf("%+v, want %+v", a.Used.Usage, c.want)
			}
		})
	}
}

// TestErrorsWithWords: an error with what the model said in it is billed by those who send
// it so. One that came as soon as it was asked for is not, however long the call had waited.
func TestErrorsWithWords(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		answer string
		free   bool
	}{
		"an answer that does not fit":   {400, `{"error":{"code":"json_validate_failed","failed_generation":"{ a b c"}}`, false},
		"words and an error in one":     {200, `data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"hi"}}],"error":{"code":502}}` + "\n\n", false},
		"words with an error's status":  {503, `{"object":"chat.completion","choices":[{"message":{"content":"hi"}}]}`, false},
		"an error":                      {400, `{"error":{"code":"x","message":"words, but of the server's own"}}`, true},
		"an error in an answer's place": {200, `{"error":{"code":502,"message":"overloaded"}}`, true},
	} {
		f := newFence(t, newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasPrefix(c.answer, "data:") {
				stream(w, c.answer)
				return
			}
			answerJSON(w, c.status, c.answer)
		}).URL)
		f.post("/openai/v1/chat/completions", chatBody)
		if a := f.account(); (a.Used.Usage.Tokens() == 0) != c.free {
			t.Errorf("%s: %+v", name, a.Used)
		}
	}
	x := &exchange{g: &Gateway{}, call: &call{input: 100, output: 10}, endpoint: &endpoint{}, answered: 503, began: time.Now().Add(-time.Hour), sent: time.Now()}
	x.reached.Store(true)
	if x.use(x.call.most(Price{}), Price{}); x.used.Usage.Tokens() != 0 {
		t.Errorf("a quick error of a call that had waited: %+v", x.used)
	}
}

// TestPausedWhileItWaits: a call that waits for others when its unit is paused does not go out.
func TestPausedWhileItWaits(t *testing.T) {
	release := make(chan bool)
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answerJSON(w, 200, `{"type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	why := &pause{payer: payer{"D-1"}}
	why.Store("")
	f := newFence(t, up.URL, func(c *Config) {
		c.Payer, c.Limits.AtOnce, c.Limits.Wait = why, 1, 1
	})
	answers := make(chan int)
	call := func() {
		status, _, _ := f.post("/anthropic/v1/messages", messageBody)
		answers <- status
	}
	go call()
	await.True(t, "the first call has the one place", func() bool { hits, _, _, _ := up.seen(); return hits == 1 })
	go call()
	await.True(t, "the second one is admitted", func() bool { return why.asked.Load() == 3 }) // twice by the first, once by this one
	why.Store("paused")
	close(release)
	if first, second := <-answers, <-answers; first+second != http.StatusOK+http.StatusForbidden {
		t.Errorf("%d and %d", first, second)
	}
	if hits, _, _, _ := up.seen(); hits != 1 || f.account().Held.Calls != 0 {
		t.Errorf("%d calls went out; held %+v", hits, f.account().Held)
	}
}

// TestLettersThatAreLonger: what a tokenizer that spells letters out first may make of a
// text is reserved, however the letters are written.
func TestLettersThatAreLonger(t *testing.T) {
	for text, want := range map[string]int64{
		"":                        0,
		"plain":                   5,
		"\uFDFA":                  33,
		`\uFDFA`:                  33,
		`\ufdfa\u3316`:            33 + 18,
		`\\uFDFA`:                 7,
		`\n\ufdfA`:                2 + 33,
		"日本語":                     9,
		strings.Repeat("a", 1000): 1000,
		strings.Repeat("a", 1000) + "\uFDFA" + strings.Repeat("b", 63) + `\uFDFA`: 1063 + 66,
	} {
		if got := spelledOut([]byte(text)); got != want {
			t.Errorf("%.40q: %d, want %d", text, got, want)
		}
	}
	g := &Gateway{}
	all, _ := g.providers()
	body := `{"model":"claude-test","max_tokens":10,"messages":[{"role":"user","content":"` + strings.Repeat("\uFDFA", 1000) + `"}]}`
	c, err := all["anthropic"].endpoints["/v1/messages"].read([]byte(body), Limits{}.withDefaults(), seen{models: []string{"claude-test"}})
	if err != nil || c.input < 33_000 {
		t.Errorf("%d tokens reserved of 33,000 letters: %v", c.input, err)
	}
}

func BenchmarkSpelledOut(b *testing.B) {
	for name, text := range map[string]string{"base64": strings.Repeat("abcdefgh", 1<<17), "escapes": strings.Repeat(`\n`, 1<<19), "chinese": strings.Repeat("日", 1<<18)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				spelledOut([]byte(text))
			}
		})
	}
}
