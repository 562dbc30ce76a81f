package command_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"git-ward/hooks/view/browsertest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// course is what a PM asks for and what the script model makes of it: a goal reached in
// three iterations, one that is never reached, a question, a test that is tampered with,
// and words that would be more than words.
const (
	course = `### D-1: three answers

Write the answers that tests/ asks for.

- [ ] all are right (§sh tests/run.sh§)
- residual: §sh tests/failing.sh§
- work: a, b, c

### D-2: away from it

- [ ] it is small (§test $(cat far) -lt 1§)
- residual: §cat far§
- work: far

### D-3: make it better

Nobody says how to tell that it is done.

### D-4: a test in the way

- [ ] the strict test passes (§sh tests/strict.sh§)
- max_iterations: 1

### D-5: 添加速率限制器 für <script>alert(1)</script> 🚀

A limit of <b>100</b> requests & "a minute".

- [ ] it is there (§test -e limit§)
- max_iterations: 1
`
	script = `{"directive":"D-1","iteration":0,"text":"A first try.","calls":[{"name":"bash","args":{"command":"for f in a b c; do echo wrong > $f; done"}}]}
{"directive":"D-1","iteration":1,"text":"Two answers.","calls":[{"name":"bash","args":{"command":"echo 1 > a; echo 2 > b"}}]}
{"directive":"D-1","iteration":2,"text":"All three.","calls":[{"name":"bash","args":{"command":"echo 3 > c"}}]}
{"directive":"D-1","text":"The answers are in a, b and c."}
{"directive":"D-2","iteration":0,"text":"One.","calls":[{"name":"bash","args":{"command":"echo 1 > far"}}]}
{"directive":"D-2","iteration":1,"text":"Two.","calls":[{"name":"bash","args":{"command":"echo 2 > far"}}]}
{"directive":"D-2","iteration":2,"text":"Three.","calls":[{"name":"bash","args":{"command":"echo 3 > far"}}]}
{"directive":"D-2","text":"It goes on."}
{"directive":"D-4","text":"The test is in the way.","calls":[{"name":"bash","args":{"command":"echo 'exit 0' > tests/strict.sh"}}]}
{"directive":"D-4","text":"It passes."}
{"directive":"D-5","text":"It is there. </pre><script>alert('x')</script> red","calls":[{"name":"bash","args":{"command":"seq 1 3000 > limit; echo '<script>alert(3)</script>' > 'a<b>.html'"}}]}
{"directive":"D-5","text":"A limit, <img src=x onerror=alert(1)> and no more."}
`
)

// repository is one that an agent has worked in, with as many more directives as to make 200.
func repository(t *testing.T) *gittest.Pair {
	t.Helper()
	p := gittest.New(t)
	p.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(string(comms), "## Directives\n")
	if !ok {
		t.Fatalf("no directives in %s", comms)
	}
	push := func(message, directives string) {
		t.Helper()
		p.Write("COMMS.md", head+"## Directives\n\n"+strings.ReplaceAll(directives, "§", "`")+tail)
		p.Git("add", "--all")
		p.Git("commit", "--quiet", "-m", message)
		if out, err := p.Push("HEAD:main"); err != nil {
			t.Fatal(out)
		}
	}
	p.Write("script.jsonl", script)
	p.Write("tests/run.sh", "test \"$(cat a)\" = 1 && test \"$(cat b)\" = 2 && test \"$(cat c)\" = 3\n")
	p.Write("tests/failing.sh", "n=3\nfor pair in a1 b2 c3; do [ \"$(cat \"${pair%?}\")\" = \"${pair#?}\" ] && n=$((n - 1)); done\necho $n\n")
	p.Write("tests/strict.sh", "echo strict; exit 1\n")
	push("five directives", course)
	out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--state", filepath.Join(t.TempDir(), "state"), "--model", "script")
	if err != nil {
		t.Fatalf("launch: %v\n%s", err, out)
	}
	p.Git("pull", "--quiet", "--rebase")
	if comms, err = os.ReadFile(filepath.Join(p.Work, "COMMS.md")); err != nil {
		t.Fatal(err)
	}
	_, tail, _ = strings.Cut(string(comms), "\n## Reports\n")
	tail = "\n## Reports\n" + tail
	many := &strings.Builder{}
	many.WriteString(course)
	titles := []string{"أضف محدد المعدل إلى الخادم", "把日志写到标准错误输出", "tidy the parser 🧹", "answer to --help on standard output"}
	for n := 6; n <= 200; n++ {
		text := "A goal."
		if n == 7 {
			text = strings.Repeat("A long text that somebody pasted, with all of its lines.\n", 60<<10/57)
		}
		fmt.Fprintf(many, "\n### D-%d: %s\n\n%s\n\n- [ ] it is (§true§)\n", n, titles[n%len(titles)], text)
	}
	push("two hundred directives", many.String())
	return p
}

// TestPagesOfARealRun: the pages of a repository that an agent worked in, of 200 directives
// and hostile words, are read in a browser: on a telephone and a desk, light and dark, none
// has a serious fault by axe-core, runs anything, or is wider than its window. WARD_SHOTS
// names a directory for pictures of them.
func TestPagesOfARealRun(t *testing.T) {
	tier.Full(t, "an agent works, and a browser reads every page")
	b := browsertest.Open(t)
	p := repository(t)
	dir := filepath.Join(t.TempDir(), "report")
	out := p.Run(p.Work, "git-ward", "report", "--html", dir, "--bare", p.Bare)
	if !strings.Contains(out, "wrote ") {
		t.Errorf("it says %q", out)
	}
	pages := httptest.NewServer(http.FileServer(http.Dir(dir))) // axe-core reads the stylesheet again, which a file: page may not
	defer pages.Close()
	for page, says := range map[string][]string{
		"index":      {"things wait for you", "git ward directive edit D-3", "git ward review D-1", "Not begun", "添加速率限制器 für <script>alert(1)</script> 🚀"},
		"D-1":        {"ready", "3 of 10", "Residual", "Units over time", "- [ ] all are right (`sh tests/run.sh`)"},
		"D-1.1":      {"Iteration 3", "Every criterion is met", "What happened", "git ward transcript D-1.1"},
		"D-4.review": {"Look first", "tests/strict.sh", "not met, exit 1", "+exit 0", "-echo strict; exit 1"},
		"D-5.review": {`<img src=x onerror=alert(1)> and no more`, "a<b>.html", "+<script>alert(3)</script>", "lines more of this file"},
		"D-7":        {"A long text that somebody pasted", "The rest (5"},
		"audit-1":    {"accepted", "push "},
		"machines":   {"ACTIVE", "PENDING_PILOT_APPROVAL"},
	} {
		file := filepath.Join(dir, page+".html")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
			continue
		}
		browsertest.Do(t, b, chromedp.Navigate(pages.URL+"/"+page+".html"))
		for _, look := range []struct {
			name       string
			wide, high int64
			dark       bool
		}{{"phone", 390, 844, false}, {"desk-dark", 1280, 900, true}} {
			browsertest.Look(t, b, look.wide, look.high, look.dark)
			if over := browsertest.Ask[int](t, b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				t.Errorf("%s on a %s is %d pixels too wide", page, look.name, over)
			}
			for _, v := range browsertest.Axe(t, b) {
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Errorf("%s on a %s: %s", page, look.name, v)
				} else {
					t.Logf("%s on a %s: %s", page, look.name, v)
				}
			}
			if shots := os.Getenv("WARD_SHOTS"); shots != "" {
				browsertest.Shot(t, b, filepath.Join(shots, page+"."+look.name+".png"))
			}
		}
		text := browsertest.Ask[string](t, b, "for (const d of document.querySelectorAll('details')) d.open = true; document.body.innerText")
		for _, want := range says {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%.1500s", page, want, text)
			}
		}
	}
	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser says %q", said)
	}
}

// TestPagesByKeyboard: the first key leads past the navigation, and each thing that can be
// opened is reached by keys and shows where one is.
func TestPagesByKeyboard(t *testing.T) {
	tier.Full(t, "it starts a browser")
	b := browsertest.Open(t)
	p := gittest.New(t)
	dir := filepath.Join(t.TempDir(), "report")
	p.Run(p.Work, "git-ward", "report", "--html", dir)
	browsertest.Do(t, b, chromedp.Navigate(browsertest.File(t, filepath.Join(dir, "machines.html"))))
	browsertest.Do(t, b, chromedp.KeyEvent("\t"))
	if at := browsertest.Ask[string](t, b, "document.activeElement.textContent"); at != "Skip to the content" {
		t.Errorf("the first key leads to %q", at)
	}
	browsertest.Do(t, b, chromedp.KeyEvent("\r"))
	browsertest.Until(t, b, "document.activeElement.id == 'main'")
	browsertest.Do(t, b, chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	browsertest.Until(t, b, "document.querySelector('details').open")
	if width := browsertest.Ask[string](t, b, "getComputedStyle(document.activeElement).outlineWidth"); width != "3px" {
		t.Errorf("where one is has a line of %s", width)
	}
}
