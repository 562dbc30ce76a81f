package plan

import (
	"fmt"
	"strings"
	"testing"
)

// TestResearch: the plan is sound under its machine in any script, and its phases differ.
func TestResearch(t *testing.T) {
	for _, topic := range []string{"why is it slow", "检索为什么慢?", "почему 'так' медленно", "لماذا", "C++ & \"quotes\" `x` $HOME {findings}", strings.Repeat("long ", 100)} {
		for _, search := range []bool{true, false} {
			text := Research(topic, Slug(topic), search).String()
			p, found := Parse([]byte(text), "p.txt")
			if len(found) > 0 || p.Machine() != "research" || p.String() != text {
				t.Errorf("%s: %v\n%s", topic, found, text)
				continue
			}
			seen, phases := map[string]bool{}, 0
			for _, s := range p.Steps {
				if f, ok := s.Find(); ok {
					if f.Text != strings.Join(strings.Fields(topic), " ") || seen[fmt.Sprint(f.In, f.Deep)] {
						t.Errorf("%s: %+v", topic, f)
					}
					seen[fmt.Sprint(f.In, f.Deep)] = true
				}
				if s.Phase() != "" {
					phases++
				}
			}
			if len(seen) != 4 || phases != 5 {
				t.Errorf("%s: %v, %d phases", topic, seen, phases)
			}
		}
	}
}

// TestSlug: a name for any text, and another one for another text.
func TestSlug(t *testing.T) {
	names := map[string]string{}
	for _, text := range []string{"why is it slow", "检索", "索检", "почему", "لماذا", "C", "C++", "C#", "!?", strings.Repeat("a long topic ", 8) + "x", strings.Repeat("a long topic ", 8) + "y", "größe", "grosse"} {
		slug := Slug(text)
		if other, ok := names[slug]; ok || !IsName("research-"+slug) || len(slug) > 60 || strings.HasSuffix(slug, "-") {
			t.Errorf("%q: %q, as %q", text, slug, other)
		}
		names[slug] = text
	}
	for text, want := range map[string]string{"Why is it  slow?": "why-is-it-slow", "what do plans cost?": "what-do-plans-cost", "C": "c"} {
		if got := Slug(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestFind: the command is told from others, which a shell runs.
func TestFind(t *testing.T) {
	for command, want := range map[string]string{
		"git ward knowledge find rate limit":                        "[] false rate limit",
		"git ward knowledge find --in files,history -- 'a  b' c":    "[files history] false a  b c",
		"git ward knowledge find --deep 'it'\\''s'":                 "[] true it's",
		"git ward knowledge find":                                   "",
		"git ward knowledge find --json x":                          "",
		"git ward knowledge find x | sh":                            "",
		"git ward knowledge find $(rm -rf x)":                       "",
		"git ward knowledge build":                                  "",
		"echo git ward knowledge find x":                            "",
		"git ward knowledge find x" + strings.Repeat(" long", 2000): "",
	} {
		s := Step{Tool: Bash, Args: command}
		got := ""
		if f, ok := s.Find(); ok {
			got = fmt.Sprintf("%v %v %s", f.In, f.Deep, f.Text)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestUnknowns: what a plan says it does not know, in loops, too.
func TestUnknowns(t *testing.T) {
	p, found := Parse([]byte("# Unknown: how fast\nset_plan x\n# unknown:  why \n# Unknown:\nfor_each_file **\n  # Unknown: inner\n  read_file {file1}\n"), "p")
	if got := strings.Join(Unknowns(p), ","); got != "how fast,why,inner" {
		t.Error(got, found)
	}
}

// TestTopic: research that a plan calls is about what that plan does not know.
func TestTopic(t *testing.T) {
	for text, want := range map[string]string{
		"set_plan Greet people.\nread_file x\n":                         "Greet people.",
		"# Unknown: how fast it is, and why it's so\nset_plan Greet.\n": "how fast it is, and why it's so",
		"read_file x\n":                NoTopic,
		"set_plan\n":                   NoTopic,
		"set_plan Research: {topic}\n": NoTopic,
	} {
		p, _ := Parse([]byte(text), "p")
		topic := Topic(p)
		if topic != want {
			t.Errorf("%q: %q", text, topic)
		}
		on := *Research(FieldTopic, FieldSlug, false)
		on.Steps = On(topic, on.Steps)
		if got, want := on.String(), Research(topic, Slug(topic), false).String(); got != want {
			t.Errorf("%s\nnot\n%s", got, want)
		}
	}
}
