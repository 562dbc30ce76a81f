package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestTakeAll: what is proved is taken one after the other, each judged with what the ones
// before it left; what does not hold then stays, and the project holds after each (PROOF-7).
func TestTakeAll(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	var script, comms strings.Builder
	comms.WriteString("# COMMS\n\n## Directives\n\n")
	for n := range 4 {
		// Each makes a file, and the third wants that there are at most two.
		holds := fmt.Sprintf("test -s f%d", n+1)
		if n == 2 {
			holds += " && test $(ls f* | wc -l) -le 2"
		}
		fmt.Fprintf(&comms, "### D-%d: a file\n\n- [ ] it is there (`%s`)\n- work: f%[1]d\n\n", n+1, holds)
		fmt.Fprintf(&script, "{\"directive\":\"D-%d\",\"text\":\"Done.\",\"calls\":[{\"name\":\"bash\",\"args\":{\"command\":\"echo %[1]d >f%[1]d\"}}]}\n{\"directive\":\"D-%[1]d\",\"text\":\"It is there.\"}\n", n+1)
	}
	comms.WriteString("## Reports\n")
	p.Write("script.jsonl", script.String())
	p.Write("COMMS.md", comms.String())
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch := []string{"launch", "--unfenced", "--bare", p.Bare, "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state")}
	p.Run(p.Work, "git-ward", append(launch, "--once")...)
	ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED", "D-2": "EXIT_CONVERGED", "D-3": "EXIT_CONVERGED", "D-4": "EXIT_CONVERGED"})
	p.Run(p.Work, "git-ward", "take", "D-1")

	// A launch that works off what there is judges what it is asked about, and ends.
	if out, err := p.Try(p.Work, nil, "", "git-ward", "take", "--no-wait", "D-2"); err == nil || !strings.Contains(out, "the host has not judged the merged tree yet") {
		t.Fatal(err, out)
	}
	asked := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/ward/take/D-2.1"))
	p.Run(p.Work, "git-ward", append(launch, "--once")...)
	if out := p.Run(p.Work, "git-ward", "take", "--no-wait", "D-2"); !strings.Contains(out, "taken: D-2 a file") {
		t.Error(out)
	}
	if tip := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "main")); tip != asked {
		t.Errorf("the project is at %s, and %s was judged", tip, asked)
	}

	log, err := os.Create(filepath.Join(t.TempDir(), "launch"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	running := p.Command(p.Work, nil, "git-ward", launch...)
	running.Stdout, running.Stderr = log, log
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", "take", "--all")
	running.Process.Signal(syscall.SIGTERM)
	running.Wait()
	if err == nil || !strings.Contains(out, "D-3: merged with what the project did meanwhile, it does not hold: not met: it is there") ||
		!strings.Contains(out, "taken: D-4 a file") || !strings.Contains(out, "1 directive taken, and what stays, for the reasons above: D-3\n") {
		said, _ := os.ReadFile(log.Name())
		t.Errorf("%v\n%s\n%s", err, out, said)
	}
	if files := p.Run(p.Bare, "git", "ls-tree", "--name-only", "main"); !strings.Contains(files, "f1\nf2\nf4\n") || strings.Contains(files, "f3") {
		t.Errorf("the project has\n%s", files)
	}
	if left := p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname)", "refs/ward/take"); left != "refs/ward/take/D-3.1\n" {
		t.Errorf("refs of takes that are over: %s", left)
	}
	p.Fsck()
}
