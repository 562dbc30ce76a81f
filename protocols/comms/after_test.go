package comms

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
)

// chain is n directives, each of which waits for the next; the last one waits for last.
func chain(n int, last string) string {
	var b strings.Builder
	b.WriteString("# COMMS\n## Directives\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "### D-%d:\n- after: D-%d\n", i, i+1)
	}
	fmt.Fprintf(&b, "### D-%d: t\n%s## Reports\n", n, last)
	return strings.ReplaceAll(b.String(), ":\n-", ": t\n-")
}

// waits is what a document says of one directive.
func waits(t *testing.T, src, name string) []string {
	t.Helper()
	doc := parseClean(t, src)
	return doc.Waits(*doc.Directive(name))
}

// report appends what closes or suspends a directive as it stands.
func report(t *testing.T, src, name string, r NewReport) string {
	t.Helper()
	d := parseClean(t, src).Directive(name)
	r.Time, r.Directive, r.DirectiveHash = time.Unix(1_700_000_000, 0), name, d.Hash()
	out, _, err := appendReport([]byte(src), r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWaits(t *testing.T) {
	src := "# COMMS\n## Directives\n### D-1: a\n### D-2: b\n- after: D-3, D-1\n### D-3: c\n- after: D-4\n### D-4: d\n## Reports\n"
	for name, want := range map[string][]string{"D-1": nil, "D-2": {"D-3", "D-1"}, "D-3": {"D-4"}, "D-4": nil} {
		if got := waits(t, src, name); !slices.Equal(got, want) {
			t.Errorf("%s waits for %q, want %q", name, got, want)
		}
	}
	src = report(t, src, "D-1", NewReport{Status: Done, Dropped: "-"})
	src = report(t, src, "D-4", NewReport{Status: ExitBlocked})
	if got := waits(t, src, "D-2"); !slices.Equal(got, []string{"D-3"}) {
		t.Errorf("dropped is closed: got %q", got)
	}
	if got := waits(t, src, "D-3"); !slices.Equal(got, []string{"D-4"}) {
		t.Errorf("blocked is not closed: got %q", got)
	}
	src = report(t, src, "D-4", NewReport{Status: ExitBudgetExceeded})
	if got := waits(t, src, "D-3"); got != nil {
		t.Errorf("closed is closed: got %q", got)
	}
	edited := strings.Replace(src, "### D-1: a\n", "### D-1: another\n", 1)
	if got := waits(t, edited, "D-2"); !slices.Equal(got, []string{"D-3", "D-1"}) {
		t.Errorf("an edit opens it again: got %q", got)
	}
	src = report(t, src, "D-2", NewReport{Status: Done})
	if got := waits(t, src, "D-2"); got != nil {
		t.Errorf("a closed directive waits for %q", got)
	}
}

// TestClosedIsHistory: who closed directives may be taken out, or wait for one that is open
// again, without a word; the one that is edited may not.
func TestClosedIsHistory(t *testing.T) {
	src := report(t, "# COMMS\n## Directives\n### D-1: a\n### D-2: b\n- after: D-1\n## Reports\n", "D-2", NewReport{Status: Done})
	out := strings.Replace(src, "### D-1: a\n", "", 1)
	parseClean(t, out)
	circle := strings.Replace(src, "### D-1: a\n", "### D-1: a\n- after: D-2\n", 1)
	parseClean(t, circle)
	for name, edited := range map[string]string{
		"D-2 waits for D-1, which is not listed": strings.Replace(out, "D-2: b", "D-2: c", 1),
		"D-1 -> D-2 -> D-1":                      strings.Replace(circle, "D-2: b", "D-2: c", 1),
	} {
		_, ds := Parse([]byte(edited))
		if !slices.ContainsFunc(ds, func(d diag.Diagnostic) bool { return d.IsError() && strings.Contains(d.Message, name) }) {
			t.Errorf("no %q in %v", name, ds)
		}
	}
}

func TestOrder(t *testing.T) {
	doc := parseClean(t, "# COMMS\n## Directives\n### D-4: a\n### D-2: b\n- priority: -1\n### D-3: c\n- priority: 7\n### D-1: d\n## Reports\n")
	var got []string
	for _, d := range doc.Open() {
		got = append(got, d.Name())
	}
	if want := []string{"D-3", "D-1", "D-4", "D-2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyAfter: eight times the directives take about eight times the memory to look
// through, where what asks each of them about all takes sixty-four times.
func TestManyAfter(t *testing.T) {
	const n = 10_000
	for name, c := range map[string]struct {
		src  func(n int) string
		want string
	}{
		"chain":  {func(n int) string { return chain(n, "") }, ""},
		"circle": {func(n int) string { return chain(n, "- after: D-1\n") }, "D-1 -> D-2 -> D-3 -> D-4 -> D-5 -> D-6 -> D-7 -> D-8 -> ... (10000 of them) -> D-1"},
		"star": {func(n int) string {
			return strings.ReplaceAll(chain(n, ""), "- after: D-2\n", "- after: D-"+fmt.Sprint(n)+"\n")
		}, ""},
	} {
		small, _ := lookThrough(t, c.src(n/8), n/8)
		bytes, f := lookThrough(t, c.src(n), n)
		if bytes > 20*small {
			t.Errorf("%s: %d directives take %d bytes, %d take %d", name, n/8, small, n, bytes)
		}
		if len(f) > 1 || (len(f) == 1) != (c.want != "") || c.want != "" && !strings.Contains(f[0].Message, c.want) {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// lookThrough asks a document of n directives who waits for whom, and counts the memory
// that was taken for it.
func lookThrough(t *testing.T, src string, n int) (bytes uint64, f findings) {
	t.Helper()
	// Such a document is beyond MaxBytes: the functions are asked below that limit.
	doc := &Document{}
	doc.layout = split(src, &f)
	doc.readEntries(&f)
	if len(doc.Directives) != n {
		t.Fatalf("%d directives", len(doc.Directives))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	doc.checkAfter(&f)
	waiting := doc.waiting()
	for _, d := range doc.Directives {
		waiting(d)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, f
}

// TestEditIntoCircle: the finding of a circle stands at its first member, and who edits
// another one in an editor sees it nevertheless.
func TestEditIntoCircle(t *testing.T) {
	src := []byte("# COMMS\n## Directives\n### D-1: a\n- after: D-2\n### D-2: b\n### D-3: c\n## Reports\n")
	out, found, err := editDirective(src, Draft{ID: 2, Title: "b", Body: "- after: D-1"})
	here := func(d diag.Diagnostic) bool {
		return d.Line == 3 && strings.Contains(d.Message, "D-2 -> D-1 -> D-2")
	}
	if err != nil || out != nil || !slices.ContainsFunc(found, here) {
		t.Errorf("%q, %v, %v", out, found, err)
	}
	if out, found, err = editDirective(src, Draft{ID: 3, Title: "c", Body: "- after: D-1"}); err != nil || diag.HasErrors(found) || out == nil {
		t.Errorf("%v, %v", found, err)
	}
	if _, found, err = editDirective(src, Draft{ID: 3, Title: "c", Body: "- after: D-4"}); err != nil || !diag.HasErrors(found) {
		t.Errorf("%v, %v", found, err)
	}
}
