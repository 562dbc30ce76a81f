package sandbox

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// TestAnswersAndDoesNothing: a program that passes its probation, answers that it is up and does
// nothing then, by an end in good order or by none, gives way to the one before, and is none of
// those that held: directives go on.
func TestAnswersAndDoesNothing(t *testing.T) {
	tier.Full(t, "launches of many seconds")
	t.Parallel()
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	honest := "exec " + filepath.Join(bin, "ward-agent") + ` "$@"`
	for name, then := range map[string]string{"ends": "exit 0", "hangs": "exec sleep 100000"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gittest.New(t)
			configtest.Set(t, p.Bare, `[bootstrap] run = ["sh", "run.sh"]`)
			p.Write("run.sh", honest+"\n")
			directive := func(n string) string {
				return "### D-" + n + ": a file\nMake f" + n + ".\n- [ ] it is there (`test -s f" + n + "`)\n- work: f" + n + "\n\n"
			}
			lines := ""
			for _, n := range []string{"1", "2"} {
				lines += `{"directive":"D-` + n + `","text":"I write it.","calls":[{"name":"bash","args":{"command":"echo done >f` + n + `"}}]}` + "\n" + `{"directive":"D-` + n + `","text":"It is written."}` + "\n"
			}
			p.Write("script.jsonl", lines)
			p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+directive("1")+"## Reports\n")
			push := func(message string) string {
				p.Git("add", "--all")
				p.Git("commit", "--quiet", "--message", message)
				if out, err := p.Push("main"); err != nil {
					t.Fatal(err, out)
				}
				return strings.TrimSpace(p.Git("rev-parse", "HEAD"))
			}
			launch := []string{"launch", "--unfenced", "--bare", p.Bare, "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state")}
			good := push("an honest program")
			p.Run(p.Work, "git-ward", append(launch, "--once")...)
			ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"})
			lastGood := func() string {
				return strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/ward/last-good"))
			}
			if got := lastGood(); got != good {
				t.Fatalf("last good is %s, not %s", got, good)
			}

			p.Git("pull", "--quiet", "--rebase")
			p.Write("run.sh", "case \"$*\" in *.probation*) "+honest+";; esac\nread -r word <&3\necho \"SUCCESS $WARD_BRANCH $WARD_COMMIT $word\" >&3\n"+then+"\n")
			p.Write("COMMS.md", strings.Replace(p.Git("show", "HEAD:COMMS.md"), "## Reports", directive("2")+"## Reports", 1))
			bad := push("one that does nothing")
			configtest.Set(t, p.Bare, `[bootstrap] check = "10s"`)
			p.Run(p.Work, "git-ward", append(launch, "--detach")...)
			t.Cleanup(func() { p.Try(p.Work, nil, "", "git-ward", "launch", "--stop", "--bare", p.Bare) })
			await.True(t, "D-2 is done", func() bool {
				return strings.Contains(p.Run(p.Bare, "git", "show", "main:COMMS.md"), " D-2 EXIT_CONVERGED\n")
			})
			if got := p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", "refs/ward/last-good", "refs/ward/boot/before"); strings.Contains(got, bad) {
				t.Errorf("what did nothing is on the list:\n%s", got)
			}
			if got := strings.TrimSpace(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", "refs/ward/fallen", "refs/ward/boot")); !strings.Contains(got, bad) {
				t.Errorf("what gave way is not written down: %s", p.Run(p.Bare, "git", "for-each-ref"))
			}
			if got := p.Run(p.Bare, "git", "show", "main:COMMS.md"); !strings.Contains(got, "FALLBACK") {
				t.Errorf("nobody says it:\n%s", got)
			}
			p.Fsck()
		})
	}
}

// TestKillsItsAgent: a directive whose work kills its agent each time is given up within the
// retries of its unit. The PM reads what was seen, and the others' work ends.
func TestKillsItsAgent(t *testing.T) {
	tier.Full(t, "a launch of many seconds")
	t.Parallel()
	p := gittest.New(t)
	configtest.Set(t, p.Bare, "[agent] retry_pause = \"10ms\"")
	p.Write(uow.PolicyPath, "max_retries = 1\n")
	p.Write("script.jsonl", `{"directive":"D-1","text":"I kill it.","calls":[{"name":"bash","args":{"command":"kill -9 $PPID"}}]}
{"directive":"D-2","text":"I write it.","calls":[{"name":"bash","args":{"command":"echo done >two"}}]}
`)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: kill\nDo.\n- [ ] never (`false`)\n\n### D-2: a file\nDo.\n- [ ] it is there (`test -s two`)\n- work: two\n\n## Reports\n")
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "--message", "two directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	out, _ := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	ended(t, p, map[string]string{"D-2": "EXIT_CONVERGED"})
	journal := p.Run("", "git-ward", "uow", "show", "D-1.1", "--bare", p.Bare)
	if strings.Count(journal, "PROGRAM_KILLED") != 2 || !strings.Contains(journal, "RETRIES_SPENT") {
		t.Errorf("the journal:\n%s\n%s", journal, out)
	}
	if said := p.Run(p.Bare, "git", "show", "main:COMMS.md"); !strings.Contains(said, "D-1.1 waits for you") || !strings.Contains(said, "kill -9 $PPID") {
		t.Errorf("the PM reads:\n%s", said)
	}
	if deaths := strings.Count(out, "a worker failed"); deaths > 5 {
		t.Errorf("it died %d times", deaths)
	}
	p.Fsck()
}
