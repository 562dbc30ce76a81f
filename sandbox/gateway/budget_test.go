package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/tier"

	"github.com/rs/zerolog"
)

// TestBudgetHoldsWhateverHappens: over 10,000 random calls (of all protocols, in parallel,
// cut by either side, with usage that is there, not there, late, odd or too low, through a
// gateway that is killed with SIGKILL and started again), a provider that bills by its own
// count never bills more than the budget plus one call. With the budget set out of the way
// the same calls cost several times as much.
func TestBudgetHoldsWhateverHappens(t *testing.T) {
	tier.Full(t, "10,000 calls through processes that are killed")
	var all ledger
	var metered Charge
	kills, budgets := 0, Budget{}
	rounds, first := uint64(25), uint64(0)
	if os.Getenv("WARD_ATTACK") == "all" {
		rounds, first = 100, rand.Uint64()>>1
	}
	for seed := first; seed < first+rounds; seed++ {
		r := newRound(t, seed, Budget{Tokens: 3_000_000, Cost: 9 * dollar})
		r.run(400)
		if over := r.billed.beyond(r.budget); over != "" {
			t.Errorf("seed %d: %s", seed, over)
		}
		all.join(&r.billed)
		metered.add(r.used())
		kills += r.kills
		budgets.Tokens, budgets.Cost = budgets.Tokens+r.budget.Tokens, budgets.Cost+r.budget.Cost
	}
	t.Logf("%d calls were tried, %d reached the provider, %d kills; budgets $%s and %d tokens, billed $%s and %d, metered $%s and %d; dearest call $%s",
		rounds*400, all.calls, kills, budgets.Cost, budgets.Tokens, all.cost, all.tokens, metered.Cost, metered.Usage.Tokens(), all.dearest)

	// The bound away.
	r, harmed := newRound(t, 0, Budget{Unlimited, Unlimited}), false
	for range 5 {
		r.run(1000)
		if harmed = r.billed.beyond(Budget{Tokens: 3_000_000, Cost: 9 * dollar}) != ""; harmed {
			break
		}
	}
	t.Logf("without a budget %d calls cost $%s and %d tokens", r.billed.calls, r.billed.cost, r.billed.tokens)
	if !harmed {
		t.Error("without a budget the attack does no harm")
	}
}

// ledger is what a provider bills.
type ledger struct {
	mu      sync.Mutex
	calls   int
	cost    Money
	tokens  int64
	dearest Money
	longest int64
}

func (l *ledger) bill(u Usage, cost Money) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.cost, l.tokens = l.calls+1, l.cost+cost, l.tokens+u.Tokens()
	l.dearest, l.longest = max(l.dearest, cost), max(l.longest, u.Tokens())
}

func (l *ledger) join(m *ledger) {
	l.calls, l.cost, l.tokens = l.calls+m.calls, l.cost+m.cost, l.tokens+m.tokens
	l.dearest = max(l.dearest, m.dearest)
}

// beyond says what is more than a budget and one call; "" for nothing.
func (l *ledger) beyond(b Budget) string {
	if l.cost > b.Cost+l.dearest || l.tokens > b.Tokens+l.longest {
		return fmt.Sprintf("billed $%s and %d tokens in %d calls, of a budget of $%s and %d; the dearest call $%s", l.cost, l.tokens, l.calls, b.Cost, b.Tokens, l.dearest)
	}
	return ""
}

// round is a budget, a provider and a gateway's processes, one after the other.
type round struct {
	t        *testing.T
	budget   Budget
	meter    string
	random   *rand.Rand // under mu
	provider *httptest.Server
	billed   ledger
	kills    int

	up     sync.Mutex // held while there is no gateway
	mu     sync.Mutex
	child  *exec.Cmd
	socket string
}

func newRound(t *testing.T, seed uint64, b Budget) *round {
	dir := t.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "gateway-test-"); err == nil { // what survives kill -9 need not survive a power cut
		t.Cleanup(func() { os.RemoveAll(memory) })
		dir = memory
	}
	r := &round{t: t, budget: b, meter: filepath.Join(dir, "meter.json"), random: rand.New(rand.NewPCG(seed, 16))}
	r.provider = httptest.NewServer(http.HandlerFunc(r.answer))
	t.Cleanup(func() {
		r.provider.CloseClientConnections()
		r.provider.Close()
	})
	return r
}

// pick is a number below n.
func (r *round) pick(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Int64N(n)
}

// run makes calls, eight at a time, and kills the gateway now and then.
func (r *round) run(calls int) {
	r.start()
	var all sync.WaitGroup
	ended := make(chan bool)
	all.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Duration(40+r.pick(100)) * time.Millisecond): // in the middle of calls, whatever they do
				r.up.Lock()
				r.stop()
				r.kills++
				r.start()
				r.up.Unlock()
			}
		}
	})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range calls / 8 {
				r.call()
			}
		})
	}
	clients.Wait()
	close(ended)
	all.Wait()
	r.stop()
}

func (r *round) start() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GATEWAY_TEST_SERVE="+r.meter, "GATEWAY_TEST_UPSTREAM="+r.provider.URL, fmt.Sprintf("GATEWAY_TEST_BUDGET=%d %d", r.budget.Tokens, r.budget.Cost))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Error(err)
		return
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	r.child, r.socket = cmd, strings.TrimSpace(line)
}

func (r *round) stop() {
	r.child.Process.Kill()
	r.child.Wait()
	os.RemoveAll(filepath.Dir(filepath.Dir(r.socket)))
}

// used is what the meter says, with what a kill left held.
func (r *round) used() Charge {
	m, err := OpenMeter(r.meter)
	if err != nil {
		r.t.Fatal(err)
	}
	defer m.Close()
	return accountOf(m, "D-1").Used
}

// serveForTest is the gateway's process.
func serveForTest(meter string) {
	var b Budget
	fmt.Sscan(os.Getenv("GATEWAY_TEST_BUDGET"), &b.Tokens, (*int64)(&b.Cost))
	prices, _ := NewPrices(testPrices)
	key, _ := NewKey(secret)
	upstream := Provider{os.Getenv("GATEWAY_TEST_UPSTREAM"), key}
	limits := Limits{Silence: 100 * time.Millisecond}
	if n := os.Getenv("GATEWAY_TEST_BODIES"); n != "" {
		fmt.Sscan(n, &limits.Bodies, &limits.Values, &limits.Depth)
	}
	m, err := OpenMeter(meter)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	g, err := Listen(Config{Meter: m, Shared: NewShared(100_000, 100_000), Models: []string{"claude-test", "gpt-test"}, Prices: prices, Anthropic: upstream, OpenAI: upstream,
		Payer: payer{"D-1"}, Budget: b, Log: zerolog.Nop(), Limits: limits})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(g.Socket())
	g.Serve(context.Background())
}

// call is one random call of a client that may hang up.
func (r *round) call() {
	r.up.Lock()
	socket := r.socket
	r.up.Unlock()
	ctx := context.Background()
	if r.pick(8) == 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.pick(20))*time.Millisecond)
		defer cancel()
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	path, body := r.request()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://g"+path, strings.NewReader(body))
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if r.pick(8) == 0 {
		io.CopyN(io.Discard, resp.Body, r.pick(300)) // and hangs up
		return
	}
	io.Copy(io.Discard, resp.Body)
}

// request is a random one: much text or little, pictures, documents, caches, thoughts.
func (r *round) request() (path, body string) {
	text := strings.Repeat("€x", int(1+r.pick(2000)))
	output, stream := 1+r.pick(4000), r.pick(3) > 0
	picture, document := "", ""
	anthropic := r.pick(2) == 0
	if r.pick(4) == 0 {
		picture = map[bool]string{true: `,{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`,
			false: `,{"type":"input_image","image_url":"data:image/png;base64,AAAA"}`}[anthropic]
	}
	if r.pick(100) == 0 {
		document = map[bool]string{true: `,{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}`,
			false: `,{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}`}[anthropic]
	}
	if anthropic {
		more := ""
		if r.pick(4) == 0 {
			more = fmt.Sprintf(`,"thinking":{"type":"enabled","budget_tokens":%d}`, r.pick(8000))
		}
		return "/anthropic/v1/messages", fmt.Sprintf(`{"model":"claude-test","max_tokens":%d,"stream":%v%s,"messages":[{"role":"user","content":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}%s%s]}]}`,
			output, stream, more, text, picture, document)
	}
	return "/openai/v1/responses", fmt.Sprintf(`{"model":"gpt-test","max_output_tokens":%d,"stream":%v,"input":[{"role":"user","content":[{"type":"input_text","text":%q}%s%s]}]}`,
		output, stream, text, picture, document)
}

// answer is the provider: it bills as soon as a call has come, by a count of its own, and
// then answers well, or tells too little, or breaks off.
func (r *round) answer(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	how := r.pick(12)
	if how == 0 { // refused, and not billed
		answerJSON(w, 503, `{"type":"error","error":{"type":"overloaded_error"}}`)
		return
	}
	var asked struct {
		Max      int64 `json:"max_tokens"`
		MaxToo   int64 `json:"max_output_tokens"`
		Stream   bool  `json:"stream"`
		Thinking struct {
			Budget int64 `json:"budget_tokens"`
		} `json:"thinking"`
	}
	json.Unmarshal(body, &asked)
	anthropic := strings.HasSuffix(q.URL.Path, "messages")
	most := max(asked.Max, asked.MaxToo)
	if asked.Thinking.Budget >= most {
		most += asked.Thinking.Budget
	}
	u := Usage{Input: int64(len(body)) * (20 + r.pick(81)) / 100, Output: 1 + r.pick(most)}
	u.Input += int64(strings.Count(string(body), "image/png")) * (1 + r.pick(12_000))
	u.Input += int64(strings.Count(string(body), "application/pdf")) * (1 + r.pick(1_000_000))
	price := Price{Input: 3 * dollar, Output: 15 * dollar, CacheWrite: 3750 * dollar / 1000}
	if anthropic {
		u.CacheWrite, u.Input = u.Input, 0
	} else {
		price = Price{Input: 1250 * dollar / 1000, Output: 10 * dollar}
	}
	r.billed.bill(u, price.cost(u))
	r.tell(w, q, anthropic && how != 1, asked.Stream, how, u)
}

// tell answers: in the form of the other protocol, which tells nothing, where that is asked for.
func (r *round) tell(w http.ResponseWriter, q *http.Request, anthropic, streamed bool, how int64, u Usage) {
	word := "data: " + `{"type":"response.output_text.delta","delta":"word "}`
	end := fmt.Sprintf(`{"type":"response.completed","response":{"usage":{"input_tokens":%d,"output_tokens":%d}}}`, u.Input, u.Output)
	begin := "data: " + `{"type":"response.created","response":{"usage":null}}`
	whole := fmt.Sprintf(`{"object":"response","usage":{"input_tokens":%d,"output_tokens":%d}}`, u.Input, u.Output)
	if anthropic {
		begin = "data: " + fmt.Sprintf(`{"type":"message_start","message":{"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}}}`, u.Input, u.CacheWrite)
		word = "data: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`
		end = fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}}`, u.Output)
		whole = fmt.Sprintf(`{"type":"message","usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}}`, u.Input, u.CacheWrite, u.Output)
	}
	words := make([]string, min(u.Output, 50))
	for i := range words {
		words[i] = word
	}
	switch {
	case how == 2: // nothing at all
		panic(http.ErrAbortHandler)
	case how == 3: // longer than the gateway waits
		<-q.Context().Done()
	case !streamed:
		answerJSON(w, 200, whole)
	case how == 4: // breaks off before it says what it bills
		stream(w, append([]string{begin}, words[:len(words)/2]...)...)
		panic(http.ErrAbortHandler)
	case how == 5: // ends well, without a word of it
		stream(w, append([]string{begin}, words...)...)
	case how == 6: // says what is no number
		stream(w, append([]string{begin}, append(words, "data: "+strings.Replace(end, `"output_tokens":`, `"output_tokens":-`, 1))...)...)
	default:
		stream(w, append([]string{begin}, append(words, "data: "+end)...)...)
	}
}
