// Package browsertest drives headless Chromium for tests of pages: their content once loaded,
// the browser's complaints, and how they look.
package browsertest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"git-ward/internal/await"
	"git-ward/internal/modeltest"
)

// Browser is one browser with its tabs, which share cookies, and what it complained of: errors
// of scripts, and what the policy of a page refused.
type Browser struct {
	context.Context // of the first tab

	mu   sync.Mutex
	said []string
}

// Open starts a browser with one tab, and ends it with the test. Without one the test is
// skipped, out loud.
func Open(t testing.TB) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: it starts a browser")
	}
	program, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Skip("SKIPPED: there is no chromium-headless-shell (scripts/setup --tests)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, // root may not have Chromium's own
		chromedp.Flag("no-proxy-server", true),
		chromedp.WSURLReadTimeout(time.Until(await.Deadline(t))), // how long it may take to start
		// The other ports of this machine are nothing that a page may look for.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	b := &Browser{}
	first, closeFirst := chromedp.NewContext(ctx)
	t.Cleanup(closeFirst)
	b.Context = first
	b.hear(t, first)
	return b
}

// Tab opens another tab of the same browser.
func (b *Browser) Tab(t testing.TB) context.Context {
	t.Helper()
	tab, closeTab := chromedp.NewContext(b)
	t.Cleanup(closeTab)
	b.hear(t, tab)
	return tab
}

// hear starts a tab, and the browser with the first, and keeps what it complains of.
func (b *Browser) hear(t testing.TB, tab context.Context) {
	t.Helper()
	keep := func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.said = append(b.said, text)
	}
	err := chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				keep(e.Entry.Text + " " + e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				text += " " + e.ExceptionDetails.Exception.Description
			}
			keep(text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				keep(fmt.Sprintf("console: %+v", e.Args))
			}
		}
	})
	if err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
}

// Complaints returns the browser's complaints since the last call. Sound pages cause none.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

// bound is a tab with the bound of all waits, so that a browser that hangs is a failure.
func bound(t testing.TB, tab context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(tab, await.Deadline(t))
}

// Do runs actions in a tab.
func Do(t testing.TB, tab context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	limited, end := bound(t, tab)
	defer end()
	if err := chromedp.Do(limited, actions...); err != nil {
		t.Fatal(err)
	}
}

// Ask is the value of a JavaScript expression, or of its promise.
func Ask[T any](t testing.TB, tab context.Context, expression string) T {
	t.Helper()
	limited, end := bound(t, tab)
	defer end()
	value, err := chromedp.Run(limited, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.200s: %v", expression, err)
	}
	return value
}

// Until waits for an expression to become true, on whatever page the tab is meanwhile.
func Until(t testing.TB, tab context.Context, expression string) {
	t.Helper()
	limited, end := bound(t, tab)
	defer end()
	for {
		ok, err := chromedp.Run(limited, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		if limited.Err() != nil {
			last, end := context.WithTimeout(tab, 5*time.Second) // one that hangs says nothing more
			defer end()
			page, _ := chromedp.Run(last, chromedp.Evaluate[string]("document.body.innerText"))
			t.Fatalf("never: %s: %v; the page:\n%.2000s", expression, err, page)
		}
		time.Sleep(50 * time.Millisecond) // a poll of the browser's own ends when the page changes
	}
}

// File is the address of a file, for pages that lie in a directory.
func File(t testing.TB, name string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: abs}).String()
}

// Look sets the window's size, and whether the user prefers dark colours.
func Look(t testing.TB, tab context.Context, width, height int64, dark bool) {
	t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	Do(t, tab, chromedp.EmulateViewport(width, height))
	Call(t, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// Call sends a command of the browser's protocol.
func Call[P, R any](t testing.TB, tab context.Context, command cdp.Command[P, R], params P) R {
	t.Helper()
	limited, end := bound(t, tab)
	defer end()
	result, err := chromedp.Call(limited, command, params)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Shot writes what a tab shows into a PNG of its 256 commonest colours, which is small.
func Shot(t testing.TB, tab context.Context, file string) {
	t.Helper()
	data, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewPaletted(img.Bounds(), commonest(img))
	draw.Draw(small, img.Bounds(), img, img.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commonest are the colours that a picture has most of: of a page, which is flat, all that
// anybody sees.
func commonest(img image.Image) color.Palette {
	count := map[color.Color]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			count[img.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return colors[:min(len(colors), 256)]
}

// A Violation is a fault that axe-core finds in a page.
type Violation struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"` // minor, moderate, serious, critical
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s): %s: %s", v.ID, v.Impact, v.Help, strings.Join(v.Nodes, " "))
}

// Axe is what axe-core finds in the page of a tab, by all its rules. It is run beside the
// page's own policy, which lets no such script in.
func Axe(t testing.TB, tab context.Context) []Violation {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(modeltest.Install(t, "axe-core"), "node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	Do(t, tab, chromedp.Evaluate[chromedp.Void](string(source)))
	return Ask[[]Violation](t, tab, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
		({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 5).map(n => n.target.join(" ") + " [" + n.html.slice(0, 120) + "]")})))`)
}
