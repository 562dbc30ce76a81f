package command

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"git-ward/hooks/view/browsertest"
	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

var update = flag.Bool("update", false, "write the pictures of docs/pictures anew")

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// served is `git ward serve` as a process, and its terminal.
type served struct {
	cmd   *exec.Cmd
	url   string
	ended chan bool // all that it printed has been read

	mu   sync.Mutex
	text strings.Builder
}

func (s *served) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *served) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var (
	address = regexp.MustCompile(`at (http://\S+/)`)
	codes   = regexp.MustCompile(`code ([0-9A-Z-]{19}) `)
)

// serveIn starts the server in a directory, and ends it with the test.
func serveIn(t *testing.T, p *gittest.Pair, dir string, args ...string) *served {
	t.Helper()
	s := &served{cmd: p.Command(dir, nil, "git-ward", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), ended: make(chan bool)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cmd.Process.Signal(syscall.SIGINT)
		await.Exit(t, s.cmd)
	})
	ready := make(chan bool)
	go func() {
		in := bufio.NewReader(out)
		for codes.FindString(s.said()) == "" {
			line, err := in.ReadString('\n')
			io.WriteString(s, line)
			if err != nil {
				break
			}
		}
		close(ready)
		io.Copy(s, in)
		close(s.ended)
	}()
	<-ready
	found := address.FindStringSubmatch(s.said())
	if found == nil {
		t.Fatalf("no address: %s", s.said())
	}
	s.url = found[1]
	return s
}

// signIn signs a tab in, by the keyboard.
func (s *served) signIn(t *testing.T, tab context.Context) {
	t.Helper()
	all := codes.FindAllStringSubmatch(s.said(), -1)
	browsertest.Do(t, tab, chromedp.Navigate(s.url), chromedp.SendKeys("#code", all[len(all)-1][1]+"\r"))
	browsertest.Until(t, tab, `location.pathname == "/" && document.getElementById("main")`)
}

// project is a repository with a directive that a model works on for some seconds, one that
// waits for the PM, and hostile ones.
func project(t *testing.T) *gittest.Pair {
	p := gittest.New(t)
	var script, comms strings.Builder
	for i, line := range []string{"I look at what is there.", "I write the limiter.", "I write its test.", "I try it."} {
		fmt.Fprintf(&script, `{"directive":"D-1","text":%q,"calls":[{"name":"bash","args":{"command":"sleep 2; echo %d > done%d"}}]}`+"\n", line, i, i)
	}
	script.WriteString(`{"directive":"D-1","text":"It is there."}` + "\n" + `{"directive":"D-2","text":"Who is to decide?"}` + "\n")
	comms.WriteString("# COMMS\n\n## Directives\n\n### D-1: add a rate limiter\n\nOne a second.\n\n- [ ] it holds (`test -f done3`)\n- work: done0, done1, done2, done3\n\n" +
		"### D-2: say it well\n\nNobody says how to tell that it is done.\n\n" +
		"### D-3: <script>alert(1)</script><img src=x onerror=alert(2)> \"'`{{.}}\n\n</main><script>alert(3)</script> [link](javascript:alert(4)) https://evil.example\n\n- [ ] it holds (`false`)\n\n" +
		"### D-4: 添加限速器 مُحدِّد السرعة 🧱 " + strings.Repeat("sehrlangeswort", 30) + "\n\nlang\n\n- [ ] it holds (`false`)\n\n## Reports\n")
	p.Write("script.jsonl", script.String())
	p.Write("COMMS.md", comms.String())
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	return p
}

// While a unit really runs the page of the first moment shows what goes on, without being
// loaded again; then every kind of page is sound: no fault that axe-core finds, in both themes
// and on a telephone, nothing that the policy refuses, nothing of hostile text run, and all of
// it reached by the keyboard.
func TestServeWhileAUnitRuns(t *testing.T) {
	tier.Full(t, "an agent works while browsers look")
	b := browsertest.Open(t)
	p := project(t)
	s := serveIn(t, p, p.Work, "--bare", p.Bare)
	browsertest.Look(t, b, 390, 844, false)
	s.signIn(t, b)
	browsertest.Ask[bool](t, b, `window.first = true`)
	launch := p.Command(p.Work, nil, "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--state", filepath.Join(t.TempDir(), "state"), "--model", "script")
	if err := launch.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- launch.Wait() }()
	t.Cleanup(func() { launch.Process.Signal(syscall.SIGTERM) })
	browsertest.Until(t, b, `first && document.getElementById("main").innerText.includes("In progress")`)
	words := b.Tab(t)
	browsertest.Do(t, words, chromedp.Navigate(s.url+"d/D-1"))
	browsertest.Until(t, words, `document.getElementById("main").innerText.includes("echo 0 > done0")`)
	picture(t, words, "serve-phone-live", 390, 844, false)
	browsertest.Ask[bool](t, words, `window.first = true`)
	browsertest.Until(t, words, `first && document.getElementById("main").innerText.includes("echo 2 > done2")`)
	if err := <-done; err != nil {
		t.Logf("launch: %v", err)
	}
	browsertest.Until(t, b, `first && document.getElementById("main").innerText.includes("git ward take D-1")`)
	browsertest.Until(t, b, `document.getElementById("live").textContent == "live"`)
	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
	picture(t, b, "serve-phone", 390, 844, false)
	picture(t, b, "serve-desktop-dark", 1280, 800, true)
	everyPage(t, b, s)
	withoutScript(t, b, s)
	p.Fsck()
}

// picture writes a picture for the documents, if it was asked for.
func picture(t *testing.T, tab context.Context, name string, width, height int64, dark bool) {
	t.Helper()
	browsertest.Look(t, tab, width, height, dark)
	file := filepath.Join(t.TempDir(), name+".png")
	if *update {
		file = "../../../docs/pictures/" + name + ".png"
	}
	browsertest.Shot(t, tab, file)
	if info, err := os.Stat(file); err != nil || info.Size() < 5000 || info.Size() > 60<<10 {
		t.Errorf("%s: %v %v", name, info.Size(), err)
	}
}

// everyPage looks at each page that links of the server's lead to.
func everyPage(t *testing.T, b *browsertest.Browser, s *served) {
	t.Helper()
	seen, queue := map[string]bool{}, []string{"/"}
	kinds := map[string]bool{}
	for len(queue) > 0 && len(seen) < 40 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		kind := regexp.MustCompile(`\d+`).ReplaceAllString(strings.SplitN(at, "?", 2)[0], "N")
		browsertest.Do(t, b, chromedp.Navigate(strings.TrimSuffix(s.url, "/")+at))
		browsertest.Until(t, b, `document.readyState == "complete"`)
		if title := browsertest.Ask[string](t, b, "document.title"); title == "No such page" || strings.HasPrefix(title, "This page") {
			t.Errorf("%s: %s", at, title)
		}
		if first := !kinds[kind]; first || strings.HasSuffix(at, "D-3") || strings.HasSuffix(at, "D-4") {
			kinds[kind] = true
			sound(t, b, at)
			walk(t, b, at)
		}
		for _, link := range browsertest.Ask[[]string](t, b, `[...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href"))`) {
			link, _, _ = strings.Cut(link, "#")
			if link != "" && !strings.HasPrefix(link, "/") {
				t.Errorf("%s leads out: %q", at, link)
			} else if link != "" {
				queue = append(queue, link)
			}
		}
		if said := b.Complaints(); len(said) > 0 {
			t.Errorf("%s: the browser complains: %q", at, said)
		}
		if n := browsertest.Ask[int](t, b, `document.querySelectorAll("script:not([src='/live.js']), iframe, object, embed, img, [onerror], [onload], [style]").length`); n != 0 {
			t.Errorf("%s: %d things in it that are not Ward's", at, n)
		}
	}
	for _, kind := range []string{"/", "/d/D-N", "/d/D-N/N", "/d/D-N/review", "/audit", "/machines"} {
		if !kinds[kind] {
			t.Errorf("no link leads to a page of the kind %s: %v", kind, seen)
		}
	}
}

// sound asks axe-core in both themes and at two widths, and whether a telephone shows it
// without scrolling sideways.
func sound(t *testing.T, b *browsertest.Browser, at string) {
	t.Helper()
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{false, true} {
			browsertest.Look(t, b, width, 844, dark)
			for _, v := range browsertest.Axe(t, b) {
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Errorf("%s, %d wide, dark %v: %s", at, width, dark, v)
				} else {
					t.Logf("%s, %d wide, dark %v: %s", at, width, dark, v)
				}
			}
		}
		if wide := browsertest.Ask[int64](t, b, "document.documentElement.scrollWidth"); wide > width {
			t.Errorf("%s is %d wide where there are %d", at, wide, width)
		}
	}
}

// walk goes through a page by the Tab key: first comes the link that skips to what matters,
// then everything in the page's own order, and one sees each time where one is.
func walk(t *testing.T, b *browsertest.Browser, at string) {
	t.Helper()
	tab := func() {
		browsertest.Call(t, b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: 9})
		browsertest.Call(t, b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: 9})
	}
	browsertest.Ask[bool](t, b, `document.activeElement.blur(), getSelection().removeAllRanges(), scrollTo(0, 0), true`)
	tab()
	if href := browsertest.Ask[string](t, b, `document.activeElement.getAttribute("href") || ""`); href != "#main" {
		t.Errorf("%s: Tab goes first to %q, which does not skip to the content", at, href)
	}
	want := browsertest.Ask[int](t, b, `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")].filter(e => e.checkVisibility()).length`)
	seen := browsertest.Ask[int](t, b, `window.walked = new Set(), 0`)
	for range want + 5 {
		state := browsertest.Ask[string](t, b, `(async () => {
			const e = document.activeElement;
			if (e === document.body) return "end";
			const hidden = () => { const r = e.getBoundingClientRect(); return !r.width || !r.height || r.bottom < 0 || r.top > innerHeight; };
			for (let i = 0; i < 600 && hidden(); i++) await new Promise(requestAnimationFrame); // it scrolls there, and a long page takes its time
			const s = getComputedStyle(e);
			if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 1) return "no sign of the focus on " + e.outerHTML.slice(0, 100);
			if (hidden()) return "out of sight: " + e.outerHTML.slice(0, 100);
			walked.add(e);
			return "";
		})()`)
		if state == "end" {
			break
		}
		if state != "" {
			t.Errorf("%s: %s", at, state)
		}
		seen++
		tab()
	}
	if walked := browsertest.Ask[int](t, b, `walked.size`); walked < want {
		t.Errorf("%s: of %d things to use Tab reaches %d", at, want, walked)
	}
}

// withoutScript asks for every kind of page where JavaScript is off.
func withoutScript(t *testing.T, b *browsertest.Browser, s *served) {
	t.Helper()
	browsertest.Call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	defer browsertest.Call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{})
	for at, want := range map[string]string{"": "git ward take D-1", "d/D-1": "rate limiter", "d/D-1/1": "met", "audit": "refs/", "machines": "ACTIVE"} {
		browsertest.Do(t, b, chromedp.Navigate(s.url+at))
		if text := browsertest.Ask[string](t, b, `document.getElementById("main").textContent`); !strings.Contains(text, want) {
			t.Errorf("/%s without JavaScript has no %q:\n%.500s", at, want, text)
		}
	}
}

// What serve says at its start and end, and that it ends on ^C.
func TestServeEnds(t *testing.T) {
	tier.First(t, "the built programs")
	p := gittest.New(t)
	s := serveIn(t, p, p.Work)
	s.cmd.Process.Signal(syscall.SIGINT)
	await.Value(t, "the server's last words", s.ended) // Wait closes the pipe, read or not
	err := await.Exit(t, s.cmd)
	if !strings.Contains(s.said(), "stopped: ") {
		t.Errorf("%v: %s", err, s.said())
	}
}
