package comms

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 999, time.FixedZone("", 3600))

// lines of reports for the tests below
func reportLine(id int, directive string, s Status, hash string) string {
	r := fmt.Sprintf("### R-%d 2026-11-21T09:00:00Z %s %s\n", id, directive, s)
	if hash != "" {
		r += "Directive: " + hash + "\n"
	}
	return r
}

func TestHash(t *testing.T) {
	raw := "### D-1: t\nbody  \n- [ ] c"
	sum := sha256.Sum256([]byte(raw + "\n"))
	want := hex.EncodeToString(sum[:])
	for _, rest := range []string{"\n## Reports\n", "\n \n\t\n## Reports\n", "\n\n### D-2: u\n## Reports\n"} {
		if got := parseClean(t, "# COMMS\n## Directives\n"+raw+rest).Directives[0].Hash(); got != want {
			t.Errorf("%q: got %s, want %s", rest, got, want)
		}
	}
	// Not sound, but the last line of a file may lack its LF.
	if doc, _ := Parse([]byte("# COMMS\n## Directives\n" + raw)); doc.Directives[0].Hash() != want {
		t.Error("the hash of a directive at the end of the file differs")
	}
	for _, other := range []string{"### D-1: t \nbody  \n- [ ] c", "### D-1: t\nbody\n- [ ] c", "### D-1: t\nbody  \n- [x] c", "### D-1: t\n\nbody  \n- [ ] c"} {
		if parseClean(t, "# COMMS\n## Directives\n"+other+"\n## Reports\n").Directives[0].Hash() == want {
			t.Errorf("%q has the same hash", other)
		}
	}
}

func TestDirectiveHash(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"Directive: " + a:                       a,
		"Directive:sha256:" + a + " ":           a,
		"x\nDirective: short\nDirective: " + a:  a,
		"Directive: " + a + "\nDirective: " + b: a,
		"Directive: " + a + "0":                 "",
		"  Directive: " + a:                     "",
		"Directive: " + strings.ToUpper(a):      "",
		"":                                      "",
	} {
		if got := (Report{Text: text}).DirectiveHash(); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestOpen(t *testing.T) {
	head := "# COMMS\n## Directives\n### D-5: five\n- [ ] x\n### D-2: two\n- [ ] x\n## Reports\n"
	two := parseClean(t, head).Directives[1].Hash()
	old := strings.Repeat("0", 64)
	for _, c := range []struct{ reports, open, suspended string }{
		{"", "D-2 D-5", ""},
		{reportLine(1, "D-2", Done, ""), "D-2 D-5", ""},
		{reportLine(1, "D-2", Done, old), "D-2 D-5", ""},
		{reportLine(1, "D-2", Info, two), "D-2 D-5", ""},
		{reportLine(1, "D-5", Done, two), "D-2 D-5", ""},
		{reportLine(1, "D-2", Done, two), "D-5", ""},
		{reportLine(1, "D-2", ExitConverged, two), "D-5", ""},
		{reportLine(1, "D-2", ExitDiverged, "sha256:"+two), "D-5", ""},
		{reportLine(1, "D-2", ExitBudgetExceeded, two), "D-5", ""},
		{reportLine(1, "D-2", ExitBlocked, two), "D-5", "D-2"},
		{reportLine(1, "D-2", ExitNeedInfo, two), "D-5", "D-2"},
		{reportLine(1, "D-2", ExitBlocked, two) + reportLine(2, "D-2", Done, two), "D-5", ""},
		{reportLine(1, "D-2", Done, two) + reportLine(2, "D-2", ExitBlocked, two), "D-5", ""},
		{reportLine(1, "D-2", ExitBlocked, two) + reportLine(2, "D-2", Done, old), "D-5", "D-2"},
	} {
		doc := parseClean(t, head+c.reports)
		if got := listed(doc.Open()); got != c.open {
			t.Errorf("%q: open %q, want %q", c.reports, got, c.open)
		}
		if got := listed(slices.DeleteFunc(slices.Clone(doc.Directives), func(d Directive) bool { return doc.State(d) != Suspended })); got != c.suspended {
			t.Errorf("%q: suspended %q, want %q", c.reports, got, c.suspended)
		}
	}
}

func listed(ds []Directive) string {
	var names []string
	for _, d := range ds {
		names = append(names, d.Name())
	}
	return strings.Join(names, " ")
}

func TestAppendReport(t *testing.T) {
	const head = "# COMMS\n## Directives\n## Reports"
	const one = "### R-1 2026-11-21T11:00:00Z - INFO\nhello\n"
	for before, want := range map[string]string{
		head:                        head + "\n\n" + one,
		head + "\n":                 head + "\n\n" + one,
		head + "\n\n":               head + "\n\n" + one,
		head + "\n \n\n":            head + "\n \n\n" + one,
		head + "\n## Questions\n":   head + "\n\n" + one + "\n## Questions\n",
		head + "\n\n\n## Questions": head + "\n\n\n" + one + "\n## Questions",
		head + "\n" + reportLine(7, "-", Info, "") + "x": head + "\n" + reportLine(7, "-", Info, "") + "x\n\n" + strings.Replace(one, "R-1", "R-8", 1),
	} {
		out, _, err := appendReport([]byte(before), NewReport{Time: noon, Directive: "-", Status: Info, Text: "\nhello\n\n"})
		if err != nil || string(out) != want {
			t.Errorf("%q:\n got %q (%v)\nwant %q", before, out, err, want)
		}
	}
}

func TestAppendReportCloses(t *testing.T) {
	src := []byte("# COMMS\n## Directives\n### D-3: x\n- [ ] y\n## Reports\n")
	d := parseClean(t, string(src)).Open()[0]
	forged := "Directive: " + strings.Repeat("f", 64)
	out, id, err := appendReport(src, NewReport{Time: noon, Directive: d.Name(), Status: Done, DirectiveHash: d.Hash(), Text: forged})
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	if doc := parseClean(t, string(out)); len(doc.Open()) != 0 || doc.State(d) != Closed {
		t.Errorf("still open:\n%s", out)
	}
}

func TestAppendCleansText(t *testing.T) {
	text := "# a\r\n## Reports\n### R-9 2026-11-21T09:00:00Z - DONE\n   ## c\n###\n#tag\n#### d\n<<<<<<< x\nprogress 1%\rprogress 2%\n\x1b[31mred\x00 \u202e \xff\n"
	want := "        # a\n        ## Reports\n        ### R-9 2026-11-21T09:00:00Z - DONE\n           ## c\n        ###\n    #tag\n    #### d\n        <<<<<<< x\n    progress 1%\n    progress 2%\n    \\x1b[31mred\\x00 \\u202e \ufffd"
	out, _, err := appendReport([]byte("# COMMS\n## Directives\n## Reports\n"), NewReport{Time: noon, Directive: "-", Status: Info, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if got := parseClean(t, string(out)).Reports; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
}

func TestAppendCuts(t *testing.T) {
	src := []byte("# COMMS\n## Directives\n## Reports\n")
	for name, text := range map[string]string{
		"lines":    strings.Repeat("0123456789\n", 5000),
		"one line": strings.Repeat("é", 50_000),
		"hashes":   strings.Repeat("#", 50_000),
		"escapes":  strings.Repeat("\x00", 50_000),
		"headings": strings.Repeat("##\n", 10_000),
		"late":     strings.Repeat("\n", 100_000) + "x",
		"huge":     strings.Repeat("output\n", 10_000_000),
	} {
		out, _, err := appendReport(src, NewReport{Time: noon, Directive: "D-1", Status: ExitBudgetExceeded, Text: text, DirectiveHash: strings.Repeat("a", 64)})
		if err != nil {
			t.Fatal(name, err)
		}
		r := parseClean(t, string(out)).Reports[0]
		if !strings.HasSuffix(r.Text, strings.TrimSpace(cutMarker)) {
			t.Errorf("%s: no marker in ...%q", name, r.Text[len(r.Text)-50:])
		}
		if name != "late" && len(r.Raw) < MaxReportBytes-100 {
			t.Errorf("%s: only %d bytes kept", name, len(r.Raw))
		}
	}
}

func TestAppendQuestion(t *testing.T) {
	src := []byte("# COMMS\n## Directives\n## Reports\n" + reportLine(1, "-", Info, ""))
	one, id, err := appendQuestion(src, NewQuestion{Time: noon, Directive: "D-1", Text: "why?"})
	want := string(src) + "\n## Questions\n\n### Q-1 2026-11-21T11:00:00Z D-1\nwhy?\n"
	if err != nil || id != 1 || string(one) != want {
		t.Fatalf("got %q, %d, %v\nwant %q", one, id, err, want)
	}
	two, id, err := appendQuestion(one, NewQuestion{Time: noon, Directive: "-"})
	if want += "\n### Q-2 2026-11-21T11:00:00Z -\n"; err != nil || id != 2 || string(two) != want {
		t.Fatalf("got %q, %d, %v", two, id, err)
	}
}

func TestAppendRefuses(t *testing.T) {
	sound := []byte("# COMMS\n## Directives\n## Reports\n")
	good := NewReport{Time: noon, Directive: "D-1", Status: Info}
	full := append(sound[:len(sound):len(sound)], strings.Repeat("\n", MaxBytes-len(sound))...)
	for name, c := range map[string]struct {
		data   []byte
		change func(r *NewReport)
		want   error
	}{
		"status":    {sound, func(r *NewReport) { r.Status = "FINE" }, nil},
		"directive": {sound, func(r *NewReport) { r.Directive = "D-01" }, nil},
		"hash":      {sound, func(r *NewReport) { r.DirectiveHash = "sha256:0" }, nil},
		"time":      {sound, func(r *NewReport) { r.Time = time.Time{} }, nil},
		"year":      {sound, func(r *NewReport) { r.Time = noon.AddDate(9000, 0, 0) }, nil},
		"ids":       {append(sound[:len(sound):len(sound)], reportLine(MaxID, "-", Info, "")...), func(*NewReport) {}, nil},
		"unsound":   {sound[:20], func(*NewReport) {}, ErrUnsound},
		"twice":     {append(sound[:len(sound):len(sound)], "## Reports\n"...), func(*NewReport) {}, ErrUnsound},
		"full":      {full, func(*NewReport) {}, ErrFull},
		"over":      {append(full, '\n'), func(*NewReport) {}, ErrFull},
	} {
		r := good
		c.change(&r)
		out, _, err := appendReport(c.data, r)
		if err == nil || out != nil || c.want != nil && !errors.Is(err, c.want) || (c.want == ErrFull) != slices.Contains(diag.Hints(err), Shorten) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// history is two directives and six reports; are the newest EXIT and
// DONE reports of the two, R-6 is the last.
const history = "# COMMS\nintro\n## Directives\n### D-1: a\n- [ ] x\n\n### D-2: b\n- [ ] x\n\n## Reports\n\n" +
	"### R-1 2026-11-21T09:00:00Z D-1 EXIT_BLOCKED\none\n\n" +
	"### R-2 2026-11-21T09:00:00Z D-9 DONE\ntwo\n\n" +
	"### R-3 2026-11-21T09:00:00Z D-1 EXIT_CONVERGED\nthree\n\n" +
	"### R-4 2026-11-21T09:00:00Z - INFO\nfour\n\n" +
	"### R-5 2026-11-21T09:00:00Z D-2 DONE\nfive\n\n" +
	"### R-6 2026-11-21T09:00:00Z - INFO\nsix\n\n" +
	"## Questions\n\n### Q-1 2026-11-21T09:00:00Z D-1\nq\n"

// without cuts the reports with these ids out of history.
func without(ids ...int) string {
	s := history
	for _, id := range ids {
		start := strings.Index(s, fmt.Sprintf("### R-%d ", id))
		end := start + 1 + strings.Index(s[start+1:], "\n##") + 1
		s = s[:start] + s[end:]
	}
	return s
}

func TestParsePrune(t *testing.T) {
	for message, want := range map[string]string{
		"subject\n\nComms-Prune: R-1..R-40\n":                                             "[R-1..R-40]",
		"subject\n\nbody\n\nWard-Step: p#1\ncomms-prune: R-3\nComms-Prune: R-5, R-7..R-8": "[R-3 R-5 R-7..R-8]",
		"subject\r\n\r\nComms-Prune: R-1\r\n":                                             "[R-1]",
		"subject\n\nComms-Prune: R-1\n\nnot the last paragraph":                           "[]",
		"Comms-Prune: R-1":            "[]",
		"subject":                     "[]",
		"":                            "[]",
		"s\n\nComms-Prune: R-2..R-1":  "error",
		"s\n\nComms-Prune: 1-4":       "error",
		"s\n\nComms-Prune: R-1...R-4": "error",
		"s\n\nComms-Prune:":           "error",
		"s\n\nComms-Prune: R-1,":      "error",
		"s\n\nComms-Prune: R-01":      "error",
		"s\n\nComms-Prune: R-1" + strings.Repeat(",R-1", maxRanges): "error",
	} {
		ranges, err := ParsePrune(message)
		got := fmt.Sprint(ranges)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%.60q: got %s (%v), want %s", message, got, err, want)
		}
	}
}

func TestCheckAgentChange(t *testing.T) {
	replace := func(s, from, to string) string {
		if !strings.Contains(s, from) {
			t.Fatalf("no %q", from)
		}
		return strings.Replace(s, from, to, 1)
	}
	const seven = "### R-7 2026-11-21T09:00:00Z D-1 EXIT_BLOCKED\nseven\n\n"
	appended := replace(history, "## Questions", seven+"## Questions")
	for name, c := range map[string]struct {
		new    string
		pruned []Range
		want   []string
	}{
		"nothing":             {history, nil, nil},
		"append":              {appended, nil, nil},
		"append a question":   {history + "### Q-2 2026-11-21T09:00:00Z -\n", nil, nil},
		"blank lines":         {replace(history, "four\n\n", "four\n\n\n\n"), nil, nil},
		"prune":               {without(1, 2, 4), []Range{{1, 2}, {4, 4}}, nil},
		"prune what outdates": {replace(appended, "### R-3 2026-11-21T09:00:00Z D-1 EXIT_CONVERGED\nthree\n\n", ""), []Range{{3, 3}}, nil},
		"no trailer":          {without(1), nil, []string{"10:0 comms/agent-prune: R-1 is gone | Comms-Prune: R-1"}},
		"other trailer":       {without(1), []Range{{2, 6}}, []string{"10:0 comms/agent-prune: R-1 is gone"}},
		"newest of D-1":       {without(3), []Range{{1, 9}}, []string{"10:0 comms/agent-prune: newest EXIT or DONE report of D-1"}},
		"the last":            {without(6), []Range{{1, 9}}, []string{"10:0 comms/agent-prune: it is the last report"}},
		"directive":           {replace(history, "- [ ] x\n\n### D-2", "- [x] x\n\n### D-2"), nil, []string{"5:4 comms/agent-directives: only the PM"}},
		"directive removed":   {replace(history, "### D-2: b\n- [ ] x\n\n", ""), nil, []string{"7:1 comms/agent-directives: only the PM"}},
		"preamble":            {replace(history, "intro", "Intro"), nil, []string{"2:1 comms/agent-directives"}},
		"blank in directives": {replace(history, "\n## Reports", "## Reports"), nil, []string{"9:1 comms/agent-directives"}},
		"edit text":           {replace(history, "four", "4"), nil, []string{"21:0 comms/agent-report-edited: R-4 was edited"}},
		"edit heading":        {replace(history, "- INFO\nfour", "- DONE\nfour"), nil, []string{"21:0 comms/agent-report-edited: R-4 was edited"}},
		"edit and prune":      {replace(history, "four", "4"), []Range{{4, 4}}, []string{"21:0 comms/agent-report-edited"}},
		"insert above":        {replace(history, "### R-6", seven+"### R-6"), nil, []string{"27:0 comms/agent-append: above old ones of ## Reports"}},
		"old id":              {replace(appended, "R-7", "R-4"), nil, []string{"30:5 comms/agent-append: R-4 is not above R-6 | R-7"}},
		"the last id":         {replace(appended, "R-7", "R-999999999"), nil, []string{"30:5 comms/agent-append: too far above R-6 | R-7"}},
		"loose text":          {replace(history, "## Reports\n", "## Reports\nhi\n"), nil, []string{"10:0 comms/agent-report-edited: directly below ## Reports"}},
		"edit question":       {replace(history, "\nq\n", "\nQ\n"), nil, []string{"32:0 comms/agent-question-edited: Q-1 was edited"}},
		"remove question":     {replace(history, "### Q-1 2026-11-21T09:00:00Z D-1\nq\n", ""), nil, []string{"30:0 comms/agent-question-edited: only the PM may remove Q-1"}},
		"remove questions":    {history[:strings.Index(history, "## Questions")], nil, []string{"0:0 comms/agent-question-edited: ## Questions is gone"}},
		"broken":              {replace(history, "## Reports", "## Report"), nil, []string{"0:0 comms/agent-directives: cannot be compared"}},
		"empty":               {"", nil, []string{"0:0 comms/agent-directives: cannot be compared"}},
	} {
		t.Run(name, func(t *testing.T) {
			matches(t, CheckAgentChange([]byte(history), []byte(c.new), c.pruned), c.want)
		})
	}
	if ds := CheckAgentChange(nil, []byte(history), nil); !diag.HasErrors(ds) {
		t.Error("the agent may create COMMS.md")
	}
	swapped := replace(without(4), "## Questions", "### R-4 2026-11-21T09:00:00Z - INFO\nfour\n\n## Questions")
	if ds := CheckAgentChange([]byte(history), []byte(swapped), nil); !diag.HasErrors(ds) {
		t.Error("the agent may move a report")
	}
}

func TestCheckUpdate(t *testing.T) {
	retired, _ := ParseSet("4-6")
	old := "# COMMS\n## Directives\n### D-1: a\n### D-2: b\n## Reports\n" + reportLine(3, "D-3", Done, "") + reportLine(7, "-", Info, "")
	for name, c := range map[string]struct {
		old, new string
		want     []string
	}{
		"same":       {old, old, nil},
		"created":    {"", old, nil},
		"next id":    {old, strings.Replace(old, "## R", "### D-10: c\n## R", 1), nil},
		"a gap":      {old, strings.Replace(old, "## R", "### D-8: c\n## R", 1), nil},
		"edited":     {old, strings.Replace(old, "D-2: b", "D-2: c", 1), nil},
		"removed":    {old, strings.Replace(old, "### D-2: b\n", "", 1), nil},
		"retired":    {old, strings.Replace(old, "## R", "### D-5: c\n## R", 1), []string{"5:5 comms/reused-id: D-5 was used before | D-7"}},
		"in reports": {old, strings.Replace(old, "## R", "### D-3: c\n### D-9: d\n## R", 1), []string{"5:5 comms/reused-id: D-3 was used before | D-10"}},
		"the last id is named": {old + reportLine(8, "D-999999999", Info, ""),
			strings.Replace(old, "## R", "### D-3: c\n### D-4: d\n## R", 1) + reportLine(8, "D-999999999", Info, ""),
			[]string{"5:5 comms/reused-id: D-7", "6:5 comms/reused-id: D-7"}},
		"the last id is listed": {strings.Replace(old, "D-2", "D-999999999", 1), strings.Replace(old, "D-2: b", "D-999999999: b\n### D-4: d", 1), []string{"5:5 comms/reused-id: free id, D-2"}},
		"report above":          {old, old + reportLine(8, "-", Info, ""), nil},
		"report in the gap":     {old, strings.Replace(old, "### R-7", reportLine(5, "-", Info, "")+"### R-7", 1), []string{"7:5 comms/report-order: R-5 is new and below R-7 | as R-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			matches(t, CheckUpdate([]byte(c.old), []byte(c.new), retired), c.want)
		})
	}
}

func TestDirectivesEqual(t *testing.T) {
	h := []byte(history)
	for _, c := range []struct {
		b    string
		want bool
	}{
		{history, true},
		{without(1), true},
		{strings.Replace(history, "intro", "other", 1), true},
		{strings.Replace(history, "D-1: a", "D-1: b", 1), false},
		{strings.Replace(history, "- [ ] x\n\n## R", "- [ ] x\n## R", 1), false},
		{"", false},
	} {
		if got := DirectivesEqual(h, []byte(c.b)); got != c.want {
			t.Errorf("%q: %v", c.b, got)
		}
	}
}
