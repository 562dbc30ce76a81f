package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
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

// TestTakeTwenty: of twenty proved directives one command takes those that fit together. After
// each the project meets the criteria of all that were taken, and what stays says why.
func TestTakeTwenty(t *testing.T) {
	tier.Full(t, "twenty directives and their verdicts")
	t.Parallel()
	const many = 20
	p := gittest.New(t)
	var script, comms strings.Builder
	comms.WriteString("# COMMS\n\n## Directives\n\n")
	criteria, converged := map[string]string{}, map[string]string{}
	for n := range many {
		name, makes := fmt.Sprintf("D-%d", n+1), fmt.Sprintf("f%d", n+1)
		holds := "test -s " + makes
		switch n + 1 {
		case 6, 12, 18: // which wants to be among the first
			holds += " && test $(ls f* | wc -l) -le 4"
		case 9, 15: // two that write the same line
			makes = "both"
			holds = fmt.Sprintf("test $(cat both) = %d", n+1)
		}
		criteria[name], converged[name] = holds, "EXIT_CONVERGED"
		fmt.Fprintf(&comms, "### %s: a file\n\n- [ ] it is there (`%s`)\n- work: %s\n\n", name, holds, makes)
		fmt.Fprintf(&script, "{\"directive\":\"%s\",\"text\":\"Done.\",\"calls\":[{\"name\":\"bash\",\"args\":{\"command\":\"echo %d >%s\"}}]}\n{\"directive\":\"%[1]s\",\"text\":\"It is there.\"}\n", name, n+1, makes)
	}
	comms.WriteString("## Reports\n")
	p.Write("script.jsonl", script.String())
	p.Write("COMMS.md", comms.String())
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch := []string{"launch", "--unfenced", "--bare", p.Bare, "--model", "script", "--agents", "4", "--state", filepath.Join(filepath.Dir(p.Bare), "state")}
	p.Run(p.Work, "git-ward", append(launch, "--once")...)
	ended(t, p, converged)
	before := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "main"))

	var log lab.Log
	running := p.Command(p.Work, nil, "git-ward", launch...)
	running.Stdout, running.Stderr = &log, &log
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", "take", "--all")
	running.Process.Signal(syscall.SIGTERM)
	running.Wait()
	stays := regexp.MustCompile(`(?m)^(\d+) directives taken, and what stays, for the reasons above: (.*)$`).FindStringSubmatch(out)
	if err == nil || stays == nil {
		t.Fatalf("%v\n%s\n%s", err, out, &log)
	}
	taken := regexp.MustCompile(`(?m)^taken: (D-\d+) `).FindAllStringSubmatch(out, -1)
	left := strings.Split(stays[2], ", ")
	if fmt.Sprint(len(taken)) != stays[1] || len(taken)+len(left) != many || len(left) < 2 {
		t.Errorf("%d taken, %v stay:\n%s", len(taken), left, out)
	}
	for _, name := range left {
		if !regexp.MustCompile(`(?m)^git-ward: error: ` + name + `(\.\d+)?[: ] *\w.+$`).MatchString(out) {
			t.Errorf("%s stays, and nobody says why:\n%s", name, out)
		}
	}
	if strings.Contains(out, "nobody judged") {
		t.Errorf("each merged tree was judged:\n%s", out)
	}
	if slices.Contains(left, "D-9") == slices.Contains(left, "D-15") {
		t.Errorf("of two that write one line stay %v", left)
	}
	tips := strings.Fields(p.Run(p.Bare, "git", "rev-list", "--first-parent", "--reverse", before+"..main"))
	for i, tip := range tips {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		p.Run(p.Bare, "git", "worktree", "add", "--quiet", "--detach", dir, tip)
		said := p.Run(p.Bare, "git", "log", "--format=%B", before+".."+tip)
		held := 0
		for _, name := range taken {
			if !regexp.MustCompile(`(?m)^Ward-Directive: ` + name[1] + `$`).MatchString(said) {
				continue
			}
			held++
			if out, err := p.Try(dir, nil, "", "sh", "-c", criteria[name[1]]); err != nil {
				t.Errorf("after %d of main %s does not hold: %s %s", i+1, name[1], criteria[name[1]], out)
			}
		}
		if held == 0 {
			t.Errorf("commit %d of main takes nothing: %s", i+1, said)
		}
	}
	p.Fsck()
}
