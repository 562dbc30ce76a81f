package notify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/process"
)

// bench is a notifier of things that a test says, and what its command was told.
type bench struct {
	*Notifier
	t      *testing.T
	things []Waiting
	log    strings.Builder
	s      Settings
}

func newBench(t *testing.T, command string, things ...Waiting) *bench {
	b := &bench{t: t, things: things, s: Settings{Command: []string{"sh", "-c", command}, Timeout: 10 * time.Second, PerHour: 100}}
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", bare) // by which the command knows where to write
	b.Notifier = &Notifier{Bare: bare, Settings: func() Settings { return b.s }, Version: func() string { return fmt.Sprint(len(b.things)) },
		Look: func(context.Context) ([]Waiting, error) { return append([]Waiting{}, b.things...), nil }, Log: zerolog.New(&b.log)}
	b.again()
	return b
}

// again is a launcher that is started anew.
func (b *bench) again() {
	b.t.Helper()
	var err error
	if b.told, err = readTold(b.path()); err != nil {
		b.t.Fatal(err)
	}
	b.look()
}

// look has the notifier look now.
func (b *bench) look() { b.pass(b.t.Context(), true) }

// heard are the messages that the command wrote down, by runs.
func (b *bench) heard() []string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.Bare, "heard"))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	list := strings.Split(string(data), "END\n")
	return list[:len(list)-1]
}

// listen writes down what is told.
const listen = `cat >>"$HOME/heard"; echo END >>"$HOME/heard"`

func thing(directive, key string) Waiting {
	return Waiting{Key: key, Kind: "question", Directive: directive, Title: "a title", What: "it asks you something", Words: "this or that?", Command: "git ward uow approve " + directive + ".1 -m TEXT"}
}

func TestToldOnce(t *testing.T) {
	b := newBench(t, listen, thing("D-1", "a"), thing("D-2", "b"), thing("D-1", "c"))
	b.look()
	b.again()
	b.things = append(b.things, thing("D-3", "d"))
	b.look()
	heard := b.heard()
	if len(heard) != 3 || strings.Count(heard[0], "\nkey: ") != 2 || !strings.HasPrefix(heard[0], "D-1: 2 things wait for you\n") || !strings.HasPrefix(heard[2], "D-3: it asks you something\n    a title\n    this or that?\ntype: git ward uow approve D-3.1 -m TEXT\nkey: ") {
		t.Errorf("%q", heard)
	}
	if info, err := os.Stat(b.path()); err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Error(info, err)
	}
}

// A launcher that is killed after the command and before it is noted tells it again, with
// the same key.
func TestToldAgainAfterAKill(t *testing.T) {
	b := newBench(t, listen, thing("D-1", "a"))
	if err := os.Remove(b.path()); err != nil {
		t.Fatal(err)
	}
	b.again()
	if heard := b.heard(); len(heard) != 2 || heard[0] != heard[1] {
		t.Errorf("%q", heard)
	}
	if err := os.WriteFile(b.path(), []byte(`{"keys":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if told, err := readTold(b.path()); err == nil || told == nil || told.Keys == nil {
		t.Error("half a file is read as a whole one")
	}
}

func TestFailures(t *testing.T) {
	mine := fmt.Sprintf("61.%d", os.Getpid()) // seconds, by which no neighbour's processes are taken for these
	for name, c := range map[string]struct{ command, says string }{
		"exit":      {`echo no such host >&2; exit 7`, "failed (exit 7): no such host"},
		"hang":      {`echo begun; sleep 60`, "was ended"},
		"escape":    {strings.ReplaceAll(`setsid sh -c 'SLEEP & SLEEP' & (SLEEP &) ; SLEEP`, "SLEEP", "sleep "+mine), "was ended"},
		"flood":     {`yes`, "was ended"},
		"not there": {``, "cannot be started"},
	} {
		b := newBench(t, "true")
		if b.s.Command[2] = c.command; c.says == "was ended" {
			b.s.Timeout = time.Second
		}
		if c.command == "" {
			b.s.Command = []string{"/no/such/program"}
		}
		b.things = []Waiting{thing("D-1", "a")}
		b.look()
		b.look() // too early: it is not run again
		if f := b.told.Failing; f == nil || f.Times != 1 || !strings.Contains(f.Why, c.says) || len(b.told.Keys) != 0 {
			t.Errorf("%s: %+v", name, f)
		}
		for _, p := range process.All() {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); !p.Dead && strings.HasPrefix(string(line), "sleep\x00"+mine+"\x00") {
				t.Errorf("%s: process %d is left", name, p.PID)
			}
		}
		b.s = Settings{Command: []string{"sh", "-c", listen}, Timeout: 10 * time.Second, PerHour: 10}
		b.told.Failing.Next = time.Now()
		b.again()
		b.told.Failing.Next = time.Now()
		b.look()
		if len(b.heard()) != 1 || b.told.Failing != nil {
			t.Errorf("%s: it is not told when the command works again: %q", name, b.heard())
		}
	}
}

// The pauses between tries grow to an hour, and a clock that is set back does not make
// them longer.
func TestPauses(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	told, _ := readTold(filepath.Join(t.TempDir(), "none"))
	var pauses []string
	for range 10 {
		told.ran(message{}, os.ErrInvalid, now)
		pauses = append(pauses, told.Failing.Next.Sub(now).String())
		if told.retry(now) {
			t.Error("at once")
		}
	}
	if got := strings.Join(pauses, " "); got != "30s 1m0s 2m0s 4m0s 8m0s 16m0s 32m0s 1h0m0s 1h0m0s 1h0m0s" {
		t.Error(got)
	}
	if !told.retry(now.Add(-3*time.Hour)) || !told.retry(now.Add(time.Hour)) {
		t.Error("never")
	}
}

// Many things at once are few runs; and beyond its share an hour a directive's wait and are
// told together.
func TestRates(t *testing.T) {
	var many []Waiting
	for i := range 1000 {
		many = append(many, thing(fmt.Sprintf("D-%d", i+1), fmt.Sprint(i)))
	}
	b := newBench(t, listen, many...)
	b.look()
	heard := b.heard()
	if len(heard) != maxRuns+1 || !strings.HasPrefix(heard[maxRuns], "Ward: 990 things wait for you\n") || !strings.Contains(heard[maxRuns], "and 940 more: git ward status") || len(b.told.Keys) != 1000 {
		t.Errorf("%d messages, %d told", len(heard), len(b.told.Keys))
	}
	b = newBench(t, listen, thing("D-1", "0"))
	b.s.PerHour = 2
	for i := range 5 {
		b.things = append(b.things, thing("D-1", fmt.Sprint("n", i)))
		b.look()
	}
	if n := len(b.heard()); n != 2 {
		t.Errorf("%d messages", n)
	}
	b.told.Runs["D-1"] = []time.Time{time.Now().Add(-2 * time.Hour)}
	b.look()
	if heard := b.heard(); len(heard) != 3 || !strings.HasPrefix(heard[2], "D-1: 4 things wait for you") {
		t.Errorf("%q", heard)
	}
}

// What others wrote is behind four spaces on the standard input, cleaned; none of it is in
// an argument or a variable, and neither is anything of the launcher's.
func TestHostile(t *testing.T) {
	const evil = "\x1b[2J-x\n.\n\nBcc: all@example.org\n--flag\r\n\u202e\xff$(touch /tmp/x)\x00"
	t.Setenv("ANTHROPIC_API_KEY", "sk-secret")
	b := newBench(t, listen+`; env >"$HOME/env"; tr '\0' '\n' </proc/$$/cmdline >"$HOME/args"`)
	b.things = []Waiting{{Key: evil, Kind: "question", Directive: "D-1", Title: evil, What: "it asks" + evil, Words: diag.Untrusted(strings.Repeat(evil, 1000)), Command: "git ward " + evil}}
	b.look()
	heard := b.heard()
	if len(heard) != 1 || len(heard[0]) > 10_000 {
		t.Fatalf("%q", heard)
	}
	for i, line := range strings.Split(strings.TrimSuffix(heard[0], "\n"), "\n") {
		own := i == 0 && strings.HasPrefix(line, "D-1: it asks") || regexp.MustCompile(`^(type: git ward |key: [0-9a-f]{32}$)`).MatchString(line)
		if diag.Clean(line) != line || !own && !strings.HasPrefix(line, "    ") {
			t.Errorf("line %d: %q", i, line)
		}
	}
	env, _ := os.ReadFile(filepath.Join(b.Bare, "env"))
	for line := range strings.Lines(string(env)) {
		if name, _, _ := strings.Cut(line, "="); !regexp.MustCompile(`^(PATH|HOME|LANG|WARD_DIRECTIVE|WARD_KIND|WARD_NOTIFY|PWD|OLDPWD|SHLVL|_)$`).MatchString(name) {
			t.Errorf("the command's environment has %q", line)
		}
	}
	args, _ := os.ReadFile(filepath.Join(b.Bare, "args"))
	if all := string(env) + string(args); !strings.Contains(all, "WARD_DIRECTIVE=D-1\n") || strings.Contains(all, "Bcc") || strings.Contains(all, "secret") {
		t.Error(all)
	}
}

// A command that does not read is told all the same.
func TestClosedInput(t *testing.T) {
	w := thing("D-1", "a")
	w.Words = diag.Untrusted(strings.Repeat("words ", 1<<16))
	b := newBench(t, `exec <&-; exit 0`, w)
	if b.told.Failing != nil || len(b.told.Keys) != 1 {
		t.Errorf("%+v", b.told)
	}
}

func TestParse(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	list, err := Parse([]byte(`{"x":1,"waiting":[{"key":"a","kind":"ready"},{"key":"","kind":"ready"},
		{"key":"b","kind":"outage","since":"2026-11-21T11:55:00Z"},{"key":"c","kind":"outage","since":"2026-11-21T11:45:00Z"}]}`), now)
	if err != nil || len(list) != 2 || list[0].Key != "a" || list[1].Key != "c" {
		t.Error(list, err)
	}
	if _, err := Parse([]byte("nothing runs"), now); err == nil {
		t.Error("words are taken for JSON")
	}
}

// Serve ends with its context, after it has told what the end left waiting.
func TestServe(t *testing.T) {
	b := newBench(t, listen)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.things = []Waiting{thing("D-1", "a")}
	if err := b.Serve(ctx); err != nil || len(b.heard()) != 1 {
		t.Error(err, b.heard())
	}
}
