package fold

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// TestOneHarmsNoOther: whatever one record holds, the words of all others reach COMMS.md
// (COMMS-5, MANY-2).
func TestOneHarmsNoOther(t *testing.T) {
	tier.First(t, "it pushes floods through Ward's hooks")
	long := strings.Repeat("word ", 3200)
	lines := strings.Repeat("<\n", 8000)
	for name, flood := range map[string]func(p *post){
		"questions": func(p *post) {
			for i := range 13 {
				p.say("D-1.1", question(p.T, "D-1", i, fmt.Sprint(i, " ", long)))
			}
		},
		"reports": func(p *post) {
			for i := range 60 {
				p.say("D-1.1", report(p.T, "D-1", i, comms.Info, fmt.Sprint(i, " ", long)))
			}
		},
		"reports of lines that Markdown would take": func(p *post) {
			for i := range 14 {
				p.say("D-1.1", report(p.T, "D-1", i, comms.Info, fmt.Sprint(i, "\n", lines)))
			}
		},
		"reports that stay, of many directives": func(p *post) {
			for i := 1; i <= 13; i++ {
				p.say(fmt.Sprintf("D-%d.1", i), report(p.T, fmt.Sprintf("D-%d", i), i, comms.ExitBlocked, long))
			}
		},
		"questions of many directives": func(p *post) {
			for i := 1; i <= 13; i++ {
				p.say(fmt.Sprintf("D-%d.1", i), question(p.T, fmt.Sprintf("D-%d", i), i, long))
			}
		},
		"a clock that is before all others'": func(p *post) {
			for i := range 120 {
				p.say("D-1.1", report(p.T, "D-1", -1000+i, comms.Info, fmt.Sprint("early ", i)))
			}
		},
		"what cannot be read": func(p *post) {
			for i := range 60 {
				p.say("D-1.1", []byte(fmt.Sprint(i)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t, 14)
			flood(p)
			p.say("D-14.1", report(t, "D-14", 100, comms.Done, "honest"))
			if _, err := p.Once(t.Context()); err != nil {
				t.Error(err)
			}
			doc := p.document()
			found := false
			for _, r := range doc.Reports {
				found = found || r.Directive == "D-14" && strings.Contains(r.Text, "honest")
			}
			if !found {
				t.Errorf("D-14's report is not in COMMS.md: %.300s", p.log.String())
			}
			for _, q := range doc.Questions {
				if len(q.Raw) > 2<<10 {
					t.Errorf("%s has %d bytes", q.Name(), len(q.Raw))
				}
			}
			p.folds(0)
			p.Run(p.Bare, "git", "fsck", "--strict", "--no-dangling")
		})
	}
}
