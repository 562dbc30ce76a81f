package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// evil is what a terminal takes for more than text: it clears the screen, fills the
// clipboard, hides and overwrites; in ASCII, in C1 control characters, in characters
// that change the order or are not seen, and in bytes that are no UTF-8.
const evil = "\x1b[2J\x1b]52;c;ZXZpbA==\x07\u009b31m\u009d0;t\u009c\rX\b\x7f\u202egnp\u2066\u200b\ufeff\U000e0041\xff\xc2"

// evilRef is as much of it as git takes for a ref.
const evilRef = "x\u009b31m\u202egnp\u200b\u00ad"

// unprintable is the first place of a text that is more than printable characters, line
// ends and tabs; "" when there is none.
func unprintable(text string) string {
	for i, r := range text {
		_, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 || r != '\n' && r != '\t' && unicode.IsControl(r) {
			return fmt.Sprintf("%q", text[max(0, i-40):min(len(text), i+40)])
		}
	}
	if h, found := diag.FindHidden(text, true); found {
		return fmt.Sprintf("%q", text[max(0, h.At-40):min(len(text), h.At+40)])
	}
	return ""
}

// force moves main of the remote past the hooks, as something from before them would
// be there, or from a gate that let it through.
func force(p *gittest.Pair, refspec string) {
	p.T.Helper()
	p.Run(p.Bare, "git", "fetch", "--quiet", "--force", p.Work, refspec)
}

// hostile fills a repository with what an agent may say, everywhere.
func hostile(t *testing.T, p *gittest.Pair) {
	t.Helper()
	q := strings.NewReplacer("E", evil)
	for name, text := range map[string]string{
		"E.udc":               "MOV R0, E\nE:\nJMP E\n",
		"E":                   "E\nE\n",
		"plans/E.txt":         "model E\nset_plan E\nread_file E\n",
		"E.json":              `{"name":"E","start":"E","states":["E"],"accept":["E"],"transitions":[{"from":"E","on":"E","to":"E"}]}`,
		"fsm/E.json":          `{"E":`,
		"E.md":                "# Post-mortem\n\n**Task ID:** E\n**Date:** E\n\n## Corrective Actions & Lessons\n\n1. **Lesson:** E\n   **Action:** E\n",
		"postmortems/E.md":    "**Task ID:** D-1\n**Date:** 2026-11-21\n\n1. **Lesson:** words E\n   **Action:** Update the rule E.\n",
		"postmortems/2E.md":   "E",
		"src/E.go":            "package x\n\nfunc Été() {}\n\ntype T struct{} // E\n",
		"src/E.py":            "def f():\n    pass\nimport E\n",
		"good.udc":            "HALT\n",
		"protocols/E.json":    `{"protocol_id":"E","rules":[{"rule_id":"E"}]}`,
		"protocols/E.md":      "E",
		"evidence/D-1/E.json": "E",
		"VERSION":             "E\n",
		"knowledge_core/lessons.jsonl": `{"lesson_id":"E","task_id":"E","date":"E","lesson":"E","action":{"type":"none","command":"E","parameters":{}},"status":"pending","reason":"E"}` + "\n" +
			`{"lesson_id":"0123456789abcdef","task_id":"D-1","date":"2026-11-21","lesson":"say \u001b[2J\u009b1m\u202e","action":{"type":"none","command":"","parameters":{}},"status":"noted","reason":"\u001b[2J\u009b"}` + "\n",
	} {
		p.Write(q.Replace(name), q.Replace(text))
	}
	p.Write("COMMS.md", q.Replace("# COMMS\n\n## Directives\n\n### D-1: title E\n\nGoal E.\n\n- [ ] it E is (`printf 'E'; false`)\n- max_iterations: 1\n- E: E\n\n## Reports\n\n"+
		"### R-1 2026-11-21T09:00:00Z D-1 INFO\n\nE\n\n## Questions\n\n### Q-1 2026-11-21T09:00:00Z D-1\n\nE\n"))
	p.Git("add", "--force", "--all")
	p.Git("-c", "user.name=A\u009b1m\u202e", "-c", "user.email=a\u009b@\u202e", "commit", "--quiet", "--cleanup=verbatim", "-m", "subject "+strings.ToValidUTF8(evil, "")+"\n\nbody "+strings.ToValidUTF8(evil, ""))
	p.Git("branch", evilRef)
	p.Git("tag", "t"+evilRef)
	for _, refspec := range []string{"HEAD:refs/heads/" + evilRef, "HEAD:refs/heads/agent/" + evilRef, "HEAD:refs/tags/" + evilRef, "HEAD:main", "HEAD:agent/e"} {
		out, _ := p.AgentPush(refspec) // refused, on the record
		if strings.Contains(out, "remote: ") {
			for line := range strings.Lines(out) {
				if rest, ok := strings.CutPrefix(line, "remote: "); ok {
					// Git itself pads and colours a remote's lines.
					if bad := unprintable(strings.TrimSuffix(strings.TrimRight(rest, " \n"), "\x1b[K")); bad != "" {
						t.Errorf("push %q: %s", refspec, bad)
					}
				}
			}
		}
	}
	for _, file := range []string{"launch.log", "door.log"} {
		appendTo(t, filepath.Join(p.Bare, "ward", file), evil+"\n")
	}
}

// TestNothingRaw: no command of `git ward` prints anything that a terminal takes for
// more than text, whatever a repository, an agent or an argument says (GATE-7).
func TestNothingRaw(t *testing.T) {
	tier.First(t, "every command on a hostile repository, with the built programs")
	nothingRaw(t, "documents, names and messages")
}

// TestNothingRawAnywhere is TestNothingRaw with what an agent leaves, whole or not.
func TestNothingRawAnywhere(t *testing.T) {
	tier.Full(t, "every command on three hostile repositories")
	nothingRaw(t, "")
}

// nothingRaw tries one kind of repository, or all.
func nothingRaw(t *testing.T, only string) {
	for name, more := range map[string]func(t *testing.T, p *gittest.Pair){
		"documents, names and messages": func(t *testing.T, p *gittest.Pair) {
			force(p, "+main:main")
		},
		"a unit that ran, its output and its verdict": func(t *testing.T, p *gittest.Pair) {
			p.Git("reset", "--quiet", "--hard", "origin/main")
			p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say it\n\nGoal.\n\n- [ ] it is (`cat said; false`)\n- max_iterations: 1\n\n## Reports\n")
			p.Write("script.jsonl", `{"directive":"D-1","text":"I say \u001b[2J\u009b31m\u202e\u0007","calls":[{"name":"write_file","args":{"path":"said","content":"\u001b[2J\u009b31m\u202e\r\u0007"}}]}`+"\n"+
				`{"directive":"D-1","text":"once more","calls":[{"name":"bash","args":{"command":"cat said; cat said >&2; printf '\\033[2J\\302\\233\\377'"}}]}`+"\n"+
				`{"directive":"D-1","text":"done \u001b]52;c;ZXZpbA==\u0007 \u009b \u202e"}`+"\n")
			p.Git("add", "--all")
			p.Git("commit", "--quiet", "-m", "a directive")
			if out, err := p.Push("HEAD:main"); err != nil {
				t.Fatal(out)
			}
			state := filepath.Join(t.TempDir(), "state")
			out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--state", state, "--model", "script")
			if bad := unprintable(out); bad != "" {
				t.Errorf("launch: %s", bad)
			}
			if list := p.Run(p.Work, "git-ward", "uow", "show", "--all"); !strings.Contains(list, "D-1.1") {
				t.Fatalf("no unit ran: %v\n%s\n%s", err, out, list)
			}
			for _, pattern := range []string{filepath.Join(p.Bare, "ward/*.log"), filepath.Join(state, "logs/*")} {
				logs, _ := filepath.Glob(pattern)
				for _, log := range logs {
					data, err := os.ReadFile(log)
					if err != nil || filepath.Base(log) == "launch.log" || strings.HasPrefix(filepath.Base(log), "bash-") {
						continue // planted; and the tool's own output, as the agent reads it
					}
					if bad := unprintable(strings.Replace(string(data), evil+"\n", "", 1)); bad != "" {
						t.Errorf("%s: %s", log, bad)
					}
				}
			}
		},
		"records that are not whole": func(t *testing.T, p *gittest.Pair) {
			p.Git("checkout", "--quiet", "--orphan", "garbage")
			p.Git("rm", "-rf", "--quiet", ".")
			for _, name := range []string{"uow.json", "record.json", evil, "evidence/" + evil} {
				p.Write(name, `{"id":"`+evil+`","`+evil+`":`)
			}
			p.Git("add", "--force", "--all")
			p.Git("commit", "--quiet", "--cleanup=verbatim", "-m", "x\u009b\x1b[2J\u202e")
			for _, ref := range []string{"refs/ward/uow/D-1.1", "refs/ward/uow/" + evilRef, "refs/ward/audit", "refs/notes/audit", "refs/notes/certificates",
				"refs/notes/lessons", "refs/notes/" + evilRef, "refs/ward/last-good"} {
				force(p, "+HEAD:"+ref)
				p.Git("update-ref", ref, "HEAD")
			}
			for _, file := range []string{"pending/20261121T090000Z-0011223344556677.json", "pending/" + evil, "refused.json", "repeats"} {
				appendTo(t, filepath.Join(p.Bare, "ward", file), evil)
			}
			appendTo(t, filepath.Join(p.Bare, "ward/config.toml"), "\n[\""+strings.ToValidUTF8(evil, "")+"\"]\n")
		},
	} {
		if only != "" && name != only {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gittest.New(t)
			hostile(t, p)
			more(t, p)
			words := map[string]string{"BARE": p.Bare, "STATE": filepath.Join(t.TempDir(), "state"), "WORKTIP": "main", "HOSTILE": evil, "TOPIC": evil, "WORDS": evil}
			printed := 0
			every(t, p, p.Work, nil, words, func(line, output string) {
				if bad := unprintable(output); bad != "" {
					t.Errorf("git ward %s: %s", line, bad)
				}
				if strings.Contains(output, `\x1b`) || strings.Contains(output, `\u009b`) || strings.Contains(output, `\u001b`) {
					printed++
				}
			})
			if printed < 10 {
				t.Errorf("the repository's words are in %d outputs only: the test proves little", printed)
			}
		})
	}
}
