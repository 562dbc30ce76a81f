package manual

import (
	"strings"
	"testing"
)

// page is a command with what usage lines can have.
var page = Page{Words: "git ward uow", Doc: "show units", Verbs: []Page{
	{Words: "git ward uow cancel", Doc: "end a unit", Usage: []string{"uow cancel [--reason CODE] [-m TEXT] D-n.k [FILE]"}, Flags: []Flag{
		{Name: "reason", Value: "CODE", Text: "why: NOT_NEEDED, TOO_RISKY"}, {Name: "m", Value: "TEXT", Text: "why, in words"},
		{Name: "config", Value: "FILE", Text: "the host's settings"}, {Name: "json", Text: "JSON", Switch: true}, {Name: "inner", Switch: true}}},
	{Words: "git ward uow verify", Doc: "look", Usage: []string{"uow verify --bare DIR COMMIT (D-n | --run LINE ...)"}, Flags: []Flag{{Name: "bare", Value: "DIR", Text: "where"}}},
	{Words: "git ward uow check", Doc: "look again", Usage: []string{"uow check [FILE ...]"}},
	{Words: "git ward uow secret", Hidden: true},
}}

func TestNext(t *testing.T) {
	for words, want := range map[string]string{
		"":                        "cancel verify check",
		"cancel ":                 ":UNIT",
		"cancel D-1.1 ":           ":FILE",
		"cancel D-1.1 x ":         "",
		"cancel -":                "--reason -m --config --json --help",
		"cancel --reason ":        "NOT_NEEDED TOO_RISKY",
		"cancel -m ":              ":TEXT",
		"cancel --config ":        ":FILE",
		"cancel --json ":          ":UNIT",
		"cancel --reason=X ":      ":UNIT",
		"cancel --reason X -m y ": ":UNIT",
		"cancel D-1.1 --config ":  ":FILE",
		"verify --bare ":          ":DIR",
		"verify --bare x ":        ":COMMIT",
		"verify --bare x HEAD ":   ":DIRECTIVE",
		"check ":                  ":FILE",
		"check a b c ":            ":FILE",
		"check -- ":               ":FILE",
		"nothing ":                "",
	} {
		w := page.Next(strings.Split(words, " "))
		var got []string
		for _, c := range w.Words {
			got = append(got, c.Word)
		}
		for _, kind := range w.Kinds {
			got = append(got, ":"+kind)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", words, strings.Join(got, " "), want)
		}
	}
}

// TestMan: no word of a text becomes a request of roff.
func TestMan(t *testing.T) {
	p := page
	p.Long = ".so /etc/passwd\n'br a \\fBback\\fP\n\n  a  table\n  of.two"
	text := (&Book{About: "All.", Groups: []Group{{"for all", []Page{p}}}}).Man(Version{"1", "2026-11-22"})["git-ward-uow.1"]
	for _, want := range []string{"\n\\&.so /etc/passwd \\(aqbr a \\efBback\\efP\n", ".nf\n  a  table\n  of.two\n.fi\n", ".TH GIT\\-WARD\\-UOW 1 2026-11-22 ", "\n.SS \"cancel\"\n", "\\fB\\-\\-reason\\fP \\fICODE\\fP\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "inner") {
		t.Errorf("what is hidden is shown\n%s", text)
	}
}

// TestMarkdown: each command and verb that people type has a heading.
func TestMarkdown(t *testing.T) {
	text := (&Book{About: "All.", Groups: []Group{{"for all", []Page{page}}}}).Markdown()
	for _, want := range []string{"\n## For all\n", "\n### git ward uow\n", "\n#### git ward uow cancel\n", "usage: git ward uow check [FILE ...]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
