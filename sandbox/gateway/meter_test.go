package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/protocols/loop"
)

func TestMoney(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3.00", "0.30": "0.30", "3.75": "3.75", "0.000000000001": "0.000000000001", "1000000": "1000000.00", "0": "0.00", "12.500": "12.50",
	} {
		m, err := ParseMoney(text)
		if err != nil || m.String() != want {
			t.Errorf("%s: %s %v, want %s", text, m, err, want)
		}
		var back Money
		if err := back.UnmarshalText([]byte(m.String())); err != nil || back != m {
			t.Errorf("%s read back: %v %v", m, back, err)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1e3", ".5", "5.", "1,5", "0x1", "1000000.01", "NaN", " 1", "0.0000000000001"} {
		if m, err := ParseMoney(text); err == nil {
			t.Errorf("%q is %s", text, m)
		}
	}
}

func TestPriceOf(t *testing.T) {
	p, err := NewPrices([]PriceSetting{
		{Model: "gpt-5", Input: "1.25", Output: "10"}, {Model: "claude-*", Input: "3", Output: "15"},
		{Model: "claude-opus-*", Input: "15", Output: "75"}, {Model: "odd", Input: "20", Output: "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gpt-5": "1.25", "gpt-5-2025-08-07": "1.25", "gpt-5-pro": "20.00", "claude-sonnet-4-5": "3.00",
		"claude-opus-4-1-20250805": "15.00", "unknown": "20.00", "gpt-5-latest": "1.25",
	} {
		if got := p.Of(name).Input.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := p.Of("unknown"); got.Output.String() != "75.00" || got.CacheWriteLong.String() != "40.00" {
		t.Errorf("an unknown model is not the dearest: %v", got)
	}
	for _, bad := range [][]PriceSetting{nil, {{Model: "a", Input: "1"}}, {{Input: "1", Output: "1"}},
		{{Model: "a", Input: "0.0000001", Output: "1"}}, {{Model: "a", Input: "1", Output: "1"}, {Model: "a", Input: "1", Output: "1"}}} {
		if _, err := NewPrices(bad); err == nil {
			t.Errorf("%v passes", bad)
		}
	}
	if c := p.Of("odd").cost(Usage{Input: 1 << 62}); c != Unlimited {
		t.Errorf("a cost that does not fit turned into %v", c)
	}
}

func TestBudgetIsExactUnderConcurrency(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	synctest.Test(t, func(t *testing.T) {
		m, err := OpenMeter(path)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var in atomic.Int64
		nine := Charge{Calls: 1, Usage: Usage{Output: 9}}
		for range 64 {
			go func() {
				if _, err := m.Reserve(ctx, "D-1", Budget{100, Unlimited}, nine, nine); err == nil {
					in.Add(1)
				}
			}()
		}
		synctest.Wait() // nothing is given back, so the others wait
		if a := accountOf(m, "D-1"); in.Load() != 11 || a.Held.Usage.Tokens() != 99 {
			t.Errorf("%d reservations of 9 in a budget of 100: %+v", in.Load(), a)
		}
		cancel()
	})
}

// What others give back goes to those who wait for it.
func TestReserveWaitsForWhatIsHeld(t *testing.T) {
	m, err := OpenMeter(filepath.Join(t.TempDir(), "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var all sync.WaitGroup
	sixty := Charge{Calls: 1, Usage: Usage{Output: 60}}
	for range 20 {
		all.Go(func() {
			r, err := m.Reserve(context.Background(), "D-1", Budget{100, Unlimited}, sixty, sixty)
			if err != nil {
				t.Error(err)
				return
			}
			r.Settle(Charge{Calls: 1, Usage: Usage{Output: 2}}, time.Millisecond, false)
		})
	}
	all.Wait()
	if a := accountOf(m, "D-1"); a.Used.Usage.Output != 40 || a.Used.Calls != 20 || a.Held != (Charge{}) {
		t.Errorf("%+v", a)
	}
}

func TestRestartRefillsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	hundred := Charge{Calls: 1, Usage: Usage{Input: 100}}
	for i := range int64(3) {
		m, err := OpenMeter(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := accountOf(m, "D-1").Used.Usage.Input; got != 10*i {
			t.Errorf("start %d: %d tokens", i, got)
		}
		r, err := m.Reserve(context.Background(), "D-1", Budget{1000, Unlimited}, hundred, hundred)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenMeter(path); err == nil {
			t.Error("a second meter on the same file")
		}
		r.Settle(Charge{Calls: 1, Usage: Usage{Input: 10}, Cost: 7}, time.Second, i == 1)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	written, err := load(path)
	all := written.Directives
	want := Account{Used: Charge{Calls: 3, Usage: Usage{Input: 30}, Cost: 21}, Estimated: 1, Millis: 3000}
	if !reflect.DeepEqual(*all["D-1"], want) {
		t.Errorf("%+v %v", all["D-1"], err)
	}
}

func holdForEver(path string) {
	m, err := OpenMeter(path)
	if err == nil {
		_, err = m.Reserve(context.Background(), "D-1", Budget{Unlimited, Unlimited},
			Charge{Calls: 1, Usage: Usage{Input: 700, Output: 50}, Cost: 3 * dollar}, Charge{})
	}
	fmt.Println("held", err)
	select {}
}

func TestKillChargesWhatWasHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	for i := range int64(2) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GATEWAY_TEST_HOLD="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 64)
		n, _ := out.Read(line)
		cmd.Process.Kill()
		cmd.Wait()
		if got := strings.TrimSpace(string(line[:n])); got != "held <nil>" {
			t.Fatal(got)
		}
		m, err := OpenMeter(path)
		if err != nil {
			t.Fatal(err)
		}
		a := accountOf(m, "D-1")
		if a.Used.Usage.Tokens() != 750*(i+1) || a.Used.Cost != Money(i+1)*3*dollar || a.Estimated != i+1 || a.Held != (Charge{}) {
			t.Errorf("after kill %d: %+v", i+1, a)
		}
		m.Close()
	}
}

func TestBadMeterFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	for _, text := range []string{"", "{", "null x", `{"version":2,"directives":{}}`, `{"version":1,"directives":{"D-1":null}}`,
		`{"version":1,"directives":{"D-1":{"used":{"cost":"-5"}}}}`, `{"version":1,"version":1}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := OpenMeter(path); err == nil {
			t.Errorf("%q opens", text)
			m.Close()
		}
	}
}

// TestSpentTimeStopsEveryClient: when the launch's time is spent nobody is paid
// for, and a call that runs then comes to its end.
func TestSpentTimeStopsEveryClient(t *testing.T) {
	spent := make(chan bool)
	var f *fence
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		f.config.Until = time.Now() // the time is spent while this call runs
		close(spent)
		answerJSON(w, 200, `{"type":"message","object":"response","usage":{"input_tokens":60,"output_tokens":40}}`)
	})
	f = newFence(t, up.URL, func(c *Config) { c.Until = time.Now().Add(time.Hour) })
	if status, answer, _ := f.post("/openai/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":50}`); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	<-spent
	for path, body := range map[string]string{
		"/anthropic/v1/messages":              `{"model":"m","messages":[],"max_tokens":1}`,
		"/anthropic/v1/messages/count_tokens": `{"model":"m","messages":[]}`,
		"/openai/v1/responses":                `{"model":"m","input":"x"}`,
	} {
		status, answer, _ := f.post(path, body)
		if status != 402 || !strings.Contains(answer, "the time of this launch, [budget] time, is spent") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if got := f.payments.of("D-1").Limit; got != loop.LaunchTime {
			t.Errorf("%s: the account names %q", path, got)
		}
	}
	if hits, _, _, _ := up.seen(); hits != 1 {
		t.Errorf("%d calls", hits)
	}
}

func TestSpentBudgetStopsEveryClient(t *testing.T) {
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, `{"type":"message","object":"response","usage":{"input_tokens":6000,"output_tokens":4000}}`)
	})
	f := newFence(t, up.URL, func(c *Config) {
		c.Budget = Budget{Tokens: 10_000, Cost: Unlimited}
	})
	if status, answer, _ := f.post("/openai/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":9900}`); status != 402 || !strings.Contains(answer, "10000 tokens left") {
		t.Errorf("a call that does not fit: %d %s", status, answer)
	}
	if status, answer, _ := f.post("/openai/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":5000}`); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	f.account()
	for path, want := range map[string]string{
		"/anthropic/v1/messages": `{"error":{"message":"ward: the budget of D-1 is spent: [budget] tokens","type":"billing_error"},"type":"error"}`,
		"/openai/v1/responses": `{"error":{"code":"insufficient_quota","message":"ward: the budget of D-1 is spent: [budget] tokens",` +
			`"param":null,"type":"insufficient_quota"}}`,
	} {
		body := `{"model":"m","input":"x"}`
		if path == "/anthropic/v1/messages" {
			body = `{"model":"m","messages":[],"max_tokens":1}`
		}
		req, _ := http.NewRequest("POST", "http://g"+path, strings.NewReader(body))
		resp, err := f.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := strings.TrimSpace(string(text)); resp.StatusCode != 402 || resp.Header.Get("X-Should-Retry") != "false" || got != want {
			t.Errorf("%s: %d %v\n got %s\nwant %s", path, resp.StatusCode, resp.Header, got, want)
		}
	}
	if status, _, _ := f.post("/anthropic/v1/messages/count_tokens", `{"model":"m","messages":[]}`); status != 402 {
		t.Errorf("count_tokens: %d", status)
	}
	if hits, _, _, _ := up.seen(); hits != 1 {
		t.Errorf("%d calls", hits)
	}
}

// limits is what the text of a directive allows; nil cannot be read.
type limits struct {
	payer
	atomic.Pointer[Budget]
}

func (l *limits) Own(string) (Budget, error) {
	if b := l.Load(); b != nil {
		return *b, nil
	}
	return Budget{}, errors.New("COMMS.md cannot be read")
}

// TestOwnLimit: what a directive's own text allows holds where it is less than the host's
// settings do, as it stands when a call is made; the answer names it. Where nobody can read it
// nothing is paid for.
func TestOwnLimit(t *testing.T) {
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, `{"type":"message","usage":{"input_tokens":600,"output_tokens":400}}`)
	})
	own := limits{payer: payer{"D-1"}}
	f := newFence(t, up.URL, func(c *Config) {
		c.Budget = Budget{Tokens: 100_000, Cost: 20 * dollar}
		c.Payer = &own
	})
	for _, step := range []struct {
		own    *Budget
		status int
		limit  string
	}{
		{nil, 503, ""},
		{&Budget{Unlimited, Unlimited}, 200, ""},
		{&Budget{1000, Unlimited}, 402, "max_tokens"},
		{&Budget{Unlimited, dollar / 1000}, 402, "max_cost"},
		{&Budget{1500, Unlimited}, 402, "max_tokens"}, // what is left does not hold the call
		{&Budget{5000, dollar}, 200, ""},
		{&Budget{1 << 40, 1000 * dollar}, 402, tokensSetting}, // a directive raises nothing
	} {
		own.Store(step.own)
		words := 1000
		if step.limit == tokensSetting {
			words = 200_000
		}
		status, answer, _ := f.post("/anthropic/v1/messages", fmt.Sprintf(`{"model":"claude-test","messages":[],"max_tokens":%d}`, words))
		if status != step.status || !strings.Contains(answer, step.limit) {
			t.Errorf("%v: %d %s, want %d of %q", step.own, status, answer, step.status, step.limit)
		}
		if got := f.payments.of("D-1").Limit; got != step.limit {
			t.Errorf("%v: the account names %q, want %q", step.own, got, step.limit)
		}
	}
}

// A burst through the socket spends no more than the budget.
func TestBurstStaysInBudget(t *testing.T) {
	var at atomic.Int64
	two := make(chan bool)
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		if at.Add(1) == 2 {
			close(two)
		}
		<-two // so that calls overlap
		answerJSON(w, 200, `{"type":"message","usage":{"input_tokens":40,"output_tokens":60}}`)
	})
	f := newFence(t, up.URL, func(c *Config) {
		c.Budget = Budget{Tokens: 3000, Cost: Unlimited}
	})
	var good atomic.Int64
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			status, answer, err := f.post("/anthropic/v1/messages", `{"model":"m","messages":[],"max_tokens":60}`)
			if status == 200 {
				good.Add(1)
			} else if status != 402 || err != nil {
				t.Errorf("%d %s %v", status, answer, err)
			}
		})
	}
	all.Wait()
	// A call reserves 60 + 1024 + 28 and uses 100: the last one starts at 1,800.
	if a := f.account(); a.Used.Usage.Tokens() != 1900 || good.Load() != 19 {
		t.Errorf("%d calls, %+v", good.Load(), a)
	}
}

// What cannot be written down is not called.
func TestUnwritableMeterRefuses(t *testing.T) {
	up := newStandIn(t, okAnswer)
	dir := filepath.Join(t.TempDir(), "ward")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := newFence(t, up.URL, func(c *Config) { c.Meter = openMeter(t, filepath.Join(dir, "meter.json")) })
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	status, answer, _ := f.post("/anthropic/v1/messages", messageBody)
	if hits, _, _, _ := up.seen(); status != 503 || hits != 0 || strings.Contains(answer, dir) {
		t.Errorf("%d %s, %d calls", status, answer, hits)
	}
	if !strings.Contains(f.log.String(), dir) {
		t.Errorf("the log does not say what is wrong: %s", f.log)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if status, answer, _ := f.post("/anthropic/v1/messages", messageBody); status != 200 {
		t.Errorf("after it was mended: %d %s", status, answer)
	}
	if a := f.account(); a.Used.Calls != 1 {
		t.Errorf("%+v", a)
	}
}
