package forge

import (
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
)

// TestPropose: the directive of an issue, line by line.
func TestPropose(t *testing.T) {
	body := "We want it to *greet*.\r\n\r\n## Tasks\r\n- work: **\r\n- [ ] it greets\r\n  whoever asks (`go test ./greet`)\r\n* [x] it is short (`test 1 -lt 2`).\r\n\r\n```\r\n- [ ] no task\r\n```\r\n<!-- - [ ] nor this -->\r\n\r\n\r\nThanks\r\n"
	p, findings := Propose(Issue{Number: 12, Title: " greet whoever asks ", Body: diag.Untrusted(body)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	want := "greet whoever asks\n\nIssue 12 on the forge says:\n\n> We want it to *greet*.\n>\n> ## Tasks\n> - work: **\n>\n> ```\n> - [ ] no task\n> ```\n> <!-- - [ ] nor this -->\n>\n> Thanks\n\n" +
		"- [ ] it greets whoever asks (`go test ./greet`)\n- [ ] it is short (`test 1 -lt 2`).\n"
	if got := p.Draft().Text(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if len(p.Criteria) != 2 || p.Issue != 12 {
		t.Errorf("%+v", p)
	}
	a, err := comms.Amend([]byte(board), comms.Addition{Draft: p.Draft()}, comms.Whole)
	if err != nil {
		t.Fatal(err)
	}
	doc, found := comms.Parse(a.Data)
	d := doc.Directive("D-2")
	if diag.HasErrors(found) || len(d.Criteria) != 2 || d.Criteria[0].Command != "go test ./greet" || d.Criteria[1].Command != "test 1 -lt 2" || d.Draft() != (comms.Draft{ID: 2, Title: p.Title, Body: p.Text}) {
		t.Errorf("%v %+v", found, d)
	}
	checkNoOption(t, d)
}

// TestHash: any other byte of what would be written is another hash, and nothing else is.
func TestHash(t *testing.T) {
	propose := func(i Issue) Proposal {
		t.Helper()
		p, findings := Propose(i)
		if len(findings) > 0 || len(p.Hash) != 64 {
			t.Fatal(p, findings)
		}
		return p
	}
	base := Issue{Number: 7, Title: "greet", Body: "words\n\n- [ ] it greets (`true`)\n"}
	same := base
	same.Body = "words\r\n\r\n- [x] it greets (`true`)"
	if propose(base).Hash != propose(same).Hash {
		t.Error("line ends and a tick are another text")
	}
	for _, other := range []Issue{{8, base.Title, base.Body}, {7, "greets", base.Body}, {7, base.Title, "words.\n\n- [ ] it greets (`true`)\n"}, {7, base.Title, "words\n\n- [ ] it greets (`false`)\n"},
		{7, base.Title, "words\n\n- [ ] it greets (`true`)\n- [ ] it greets (`true`)\n"}} {
		if propose(base).Hash == propose(other).Hash {
			t.Errorf("%+v has the same hash", other)
		}
	}
	if !strings.Contains(propose(base).Comment(), propose(base).Hash) {
		t.Error("the comment does not name the hash")
	}
}

// TestProposeRefuses: what cannot be a directive, with the place and what to do.
func TestProposeRefuses(t *testing.T) {
	const task = "- [ ] it greets (`true`)\n"
	for _, test := range []struct {
		title, body diag.Untrusted
		want        string
	}{
		{"", task, "title: there is none: write what is to be done"},
		{diag.Untrusted(strings.Repeat("x", 201)), task, "title: it has 201 bytes, more than 200"},
		{"a\u202eb", task, "title: byte 2 is the bidirectional control U+202E"},
		{"a\nb", task, "title: byte 2 is the control character U+000A"},
		{"### D-9: another", task, "title: COMMS.md takes it for more than a title: begin it with a word"},
		{"## Reports", task, "title: COMMS.md takes it for more than a title: begin it with a word"},
		{comms.Scissors, task, "title: COMMS.md takes it for more than a title: begin it with a word"},
		{"greet", "", "line 1: no task says how its end is seen: add a line such as \"- [ ] it greets"},
		{"greet", "a\n\nb\u200bc\n" + task, "line 3: column 2 is the invisible character U+200B"},
		{"greet", task + "x\ry\n", "line 2: column 2 is the control character U+000D"},
		{"greet", task + "x\xff\n", "line 2: column 2 is invalid UTF-8"},
		{"greet", task + "text\n- [ ] it looks good\n", "line 3: no command decides this task"},
		{"greet", task + "- [ ] it looks good (``)\n", "line 2: "},
		{"greet", task + "1. [ ] more (`true`)\n", "line 2: a task within a list"},
		{"greet", task + "- list\n  - [ ] more (`true`)\n", "line 3: a task within a list"},
		{"greet", diag.Untrusted(strings.Repeat(task, 51)), "line 51: more than 50 tasks"},
		{"greet", diag.Untrusted(task + strings.Repeat("x\n", 9000)), "line 1: the issue has 18025 bytes, more than 16384"},
	} {
		p, findings := Propose(Issue{Number: 7, Title: test.title, Body: test.body})
		if len(findings) != 1 || !strings.HasPrefix(findings[0], test.want) || p.Hash != "" || p.Text != "" {
			t.Errorf("%.60q, %.60q: %q", test.title.Raw(), test.body.Raw(), findings)
		}
	}
	if _, findings := Propose(Issue{Title: "greet", Body: diag.Untrusted(strings.Repeat("\u200b\n", 99))}); len(findings) != maxFindings {
		t.Errorf("%d findings", len(findings))
	}
}
