package forge

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"git-ward/internal/diag"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// markdown is a forge's: with links of bare addresses, tables, task lists and notes.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))

// seen is what a renderer makes of a text: the kinds of its nodes, once each, and the words
// that are not code, in which forges look for mentions and references.
func seen(source string) (kinds []string, words string) {
	var b strings.Builder
	ast.Walk(markdown.Parser().Parse(text.NewReader([]byte(source))), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if kind := n.Kind().String(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			b.Write(n.Segment.Value([]byte(source)))
			b.WriteByte('\n')
		}
		return ast.WalkContinue, nil
	})
	return kinds, b.String()
}

// live is what a reader of plain text obeys: a commit's message, a mail, a workflow's log.
var live = regexp.MustCompile(`@[^\s\x60]|#[0-9]|![0-9]|(?i:gh-)[0-9]|://[^\s\x60]|(?m:^ *::)|##\w*\[|(?i)\[(skip ci|ci skip)\]|(?m:^/)|(?im:^(co-authored-by|signed-off-by|skip-checks):)`)

// checkShown holds a text with words of others in it to what Quote promises: these kinds of
// nodes and no other, nothing hidden, and nothing that is obeyed.
func checkShown(t *testing.T, what, shown string, allowed ...string) {
	t.Helper()
	kinds, words := seen(shown)
	for _, kind := range kinds {
		if !slices.Contains(allowed, kind) {
			t.Errorf("%s has a %s:\n%.600s", what, kind, shown)
		}
	}
	if strings.ContainsAny(words, "@<") {
		t.Errorf("%s: not all is code: %.300q", what, words)
	}
	if h, found := diag.FindHidden(shown, true); found {
		t.Errorf("%s has %s in it", what, h.What)
	}
}

func checkDead(t *testing.T, what, shown string) {
	t.Helper()
	if m := live.FindString(shown); m != "" {
		t.Errorf("%s has %q in it, which somebody obeys:\n%.600s", what, m, shown)
	}
}

var (
	blocks = []string{"Document", "Paragraph", "Text", "CodeBlock"}
	spans  = []string{"Document", "List", "ListItem", "TextBlock", "Text", "CodeSpan", "String"}
	bodies = []string{"Document", "Paragraph", "Text", "CodeBlock", "CodeSpan", "List", "ListItem", "TextBlock", "Emphasis"}
)

// hostileIssue is an issue with the text, and one task that is meant.
func hostileIssue(words string) Issue {
	return Issue{Number: 7, Title: "greet", Body: diag.Untrusted("- [ ] it greets (`grep -q hello greeting.txt`)\n\n" + words)}
}

// board is a COMMS.md into which a proposal goes.
const board = "# COMMS\n\n## Directives\n\n### D-1: first\n\n- [ ] it is (`true`)\n\n## Reports\n\n### R-1 2026-11-21T09:00:00Z D-1 INFO\n\nhello\n\n## Questions\n"

// TestHostile: words of strangers reach neither a verb nor a field of a directive, and
// whatever shows them shows them as text.
func TestHostile(t *testing.T) {
	tier.First(t, "parses some thousand texts as Markdown")
	all, proposed := map[string]bool{}, 0
	for class := range hostile {
		t.Run(class, func(t *testing.T) {
			for _, words := range hostileTexts(class) {
				all[words] = true
				u := diag.Untrusted(words)
				if v, ok, _ := ParseVerb(u); ok {
					t.Errorf("%.80q is a verb: %+v", words, v)
				}
				if checkProposed(t, hostileIssue(words)) {
					proposed++
				}
				checkProposed(t, Issue{Number: 7, Title: u, Body: hostileIssue("").Body})

				quoted := Quote(u, 2000)
				if len(quoted) > 2000 {
					t.Errorf("%.80q: %d bytes", words, len(quoted))
				}
				checkShown(t, "Quote", "before\n\n"+quoted+"\n\nafter\n", blocks...)
				checkDead(t, "Quote", quoted)
				span := "- met: " + Span(u, 300) + " (exit 0)\n"
				checkShown(t, "Span", span, spans...)
				checkDead(t, "Span", span)
				plain := Plain(u, MaxDescription)
				if len(plain) > MaxDescription || strings.Contains(plain, "\n") || diag.Clean(plain) != plain {
					t.Errorf("Plain of %.80q: %q", words, plain)
				}
				checkDead(t, "Plain", "D-1: "+plain)

				r := hostileRequest(u)
				body := r.Body()
				checkShown(t, "Body", body, bodies...)
				checkDead(t, "Body", strings.ReplaceAll(body, "of issue #7", ""))
				if _, ok, finding := ParseVerb(diag.Untrusted(body)); ok || finding != "" || len(body) > 60_000 {
					t.Errorf("the body of %.80q: %d bytes, %q", words, len(body), finding)
				}
				checkDead(t, "Title", r.Title())
				_, description := Status(judged(func(j *Judged) { j.Verdict.Reason = words }))
				if checkDead(t, "Status", description); len(description) > MaxDescription {
					t.Errorf("%q has %d bytes", description, len(description))
				}
			}
		})
	}
	if len(all) < 300 || proposed < 150 {
		t.Errorf("%d texts, of which %d became proposals", len(all), proposed)
	}
	t.Logf("%d texts, of which %d became proposals", len(all), proposed)
}

// checkProposed holds the directive of an issue with one task to COMMS.md's own parser, and
// reports whether it became one.
func checkProposed(t *testing.T, i Issue) bool {
	t.Helper()
	p, findings := Propose(i)
	for _, f := range findings {
		if strings.Contains(f, "another thing") {
			t.Errorf("%.80q: %s", i.Body.Raw(), f)
		}
	}
	if len(findings) > 0 {
		if p.Hash != "" || p.Text != "" {
			t.Errorf("%.80q is refused, and proposed: %+v", i.Body.Raw(), p)
		}
		checkShown(t, "Refusal", Refusal(findings), bodies...)
		return false
	}
	// As git ward directive new -F reads it.
	if read, err := comms.ParseDraft(p.Draft().Text()); err != nil || read != p.Draft() {
		t.Errorf("%.80q, %.80q: as a draft it is %+v, %v", i.Title.Raw(), i.Body.Raw(), read, err)
	}
	a, err := comms.Amend([]byte(board), comms.Addition{Draft: p.Draft()}, comms.Whole)
	if err != nil || diag.HasErrors(a.Found) {
		t.Errorf("%.80q: %v %v", i.Body.Raw(), err, a.Found)
		return false
	}
	before, _ := comms.Parse([]byte(board))
	after, found := comms.Parse(a.Data)
	d := after.Directive("D-2")
	switch {
	case d == nil || diag.HasErrors(found) || len(after.Directives) != 2 || after.Directives[0].Raw != before.Directives[0].Raw ||
		len(after.Reports) != 1 || after.Reports[0].Raw != before.Reports[0].Raw || len(after.Questions) != 0:
		t.Errorf("%.80q is more than a directive:\n%s", i.Body.Raw(), a.Data)
	case d.Title.Raw() != p.Title || d.Draft().Body != p.Text || len(d.Criteria) != 1 || d.Criteria[0].Command != "grep -q hello greeting.txt" ||
		!slices.Equal(p.Criteria, []string{d.Criteria[0].Text}):
		t.Errorf("%.80q is another directive: %+v", i.Body.Raw(), d)
	}
	checkNoOption(t, d)
	for line := range strings.SplitSeq(d.Goal, "\n") {
		if line != "" && !strings.HasPrefix(line, ">") && line != "Issue 7 on the forge says:" {
			t.Errorf("%.80q: a line of it stands unquoted: %q", i.Body.Raw(), line)
		}
	}
	comment := p.Comment()
	checkShown(t, "Comment", comment, bodies...)
	if _, ok, finding := ParseVerb(diag.Untrusted(comment)); ok || finding != "" || !strings.Contains(comment, "\n    /ward approve "+p.Hash+"\n") {
		t.Errorf("%.80q: %s", i.Body.Raw(), comment)
	}
	return true
}

// TestQuote: what a reader sees of words.
func TestQuote(t *testing.T) {
	for _, test := range []struct {
		words diag.Untrusted
		most  int
		want  string
	}{
		{"", 100, ""},
		{"\n \n\t\n", 100, ""},
		{"one\r\ntwo\n\n\n\nthree\n", 100, "    one\n    two\n\n    three"},
		{"std::vector, a@b, 5 @ 3, C#, #1, ::x", 100, "    std::vector, a@ b, 5 @ 3, C# , # 1, ::x"},
		{"::x\nGH-1 http://x/y a//b [skip ci] [a] x[0]", 100, "    : :x\n    GH- 1 http:// x/y a//b [ skip ci] [a] x[0]"},
		{"a\u202eb\x1b", 100, "    a\\u202eb\\x1b"},
		{"four words of it", 30, "    four words of it"},
		{"four words of it and more", 30, "    four words of it and ..."},
		{"one\ntwo\nthree\nfour\nfive", 30, "    one\n    two\n    three..."},
		{diag.Untrusted(strings.Repeat("x", 99)), 30, "    ..."},
		{"x", 3, ""},
	} {
		if got := Quote(test.words, test.most); got != test.want {
			t.Errorf("%q: %q, want %q", test.words.Raw(), got, test.want)
		}
	}
	for words, want := range map[diag.Untrusted]string{
		"": "(nothing)", " \n": "(nothing)", "a": "`a`", "a\nb\tc": "`a b c`", "it is (`true`)": "``it is (`true`)``", "`x`": "`` `x` ``", "``": "``` `` ```",
	} {
		if got := Span(words, 100); got != want {
			t.Errorf("%q: %q, want %q", words.Raw(), got, want)
		}
	}
	if got := Plain("a title that is long @bob", 20); got != "a title that is ..." {
		t.Errorf("%q", got)
	}
}

// TestSecretsStayWhole: where words are cut, no half of a secret is left, which nobody would
// know for one.
func TestSecretsStayWhole(t *testing.T) {
	secret := "ghp" + "_" + strings.Repeat("Z9y8X7", 6)
	words := diag.Untrusted("the key is " + secret + " and that is all there is to say of it")
	for most := 12; most < len(words)+20; most++ {
		for _, shown := range []string{Quote(words, most), Span(words, most), Plain(words, most)} {
			if strings.Contains(shown, "ghp") && !strings.Contains(shown, secret) {
				t.Errorf("%d: %q", most, shown)
			}
		}
	}
}

func FuzzQuote(f *testing.F) {
	for class := range hostile {
		if class != "megabytes" {
			for _, words := range hostileTexts(class) {
				f.Add(words, 500)
			}
		}
	}
	f.Fuzz(func(t *testing.T, words string, most int) {
		if len(words) > 4000 || most < 0 || most > 4000 {
			return
		}
		quoted := Quote(diag.Untrusted(words), most)
		if len(quoted) > most || !utf8.ValidString(quoted) {
			t.Errorf("%d bytes of %d: %q", len(quoted), most, quoted)
		}
		checkShown(t, "Quote", "before\n\n"+quoted+"\n\nafter\n", blocks...)
		checkDead(t, "Quote", quoted)
		span := "- met: " + Span(diag.Untrusted(words), most) + " (exit 0)\n"
		checkShown(t, "Span", span, spans...)
		checkDead(t, "Span", span)
		checkProposed(t, hostileIssueFuzzed(words))
	})
}

// hostileIssueFuzzed is hostileIssue where the words have no task of their own.
func hostileIssueFuzzed(words string) Issue {
	if strings.Contains(words, "[") {
		words = strings.ReplaceAll(words, "[", "(")
	}
	return hostileIssue(words)
}
