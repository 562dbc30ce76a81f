package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/sandbox/verifier"
)

// judged is a command of a claim, and how it must end.
type judged struct {
	line string
	end  string
	exit int
}

// testVerify: commands of a claim in containers of their own, which have no way
// out, keep nothing, and end at their limits. What no limit may end has hours.
func testVerify(t *testing.T, p *machine) {
	p.Git("fetch", "--quiet")
	head := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	facts := verified(t, p, "24h", []judged{
		{"git rev-list --all HEAD | wc -l && ! git cat-file -e " + head + " 2>/dev/null && test -z \"$(git status --porcelain)\" && test ! -e left && touch left /tmp/left", verifier.Exited, 0},
		{"id -u; exit 9", verifier.Exited, 9},
		{"ls /ward/door/sock", verifier.Exited, 2},
		{"touch /mnt/remote/x || exit 4", verifier.Exited, 4},
		{"ls /mnt/remote/ward/* || exit 4", verifier.Exited, 4},
		{"bash -c 'echo > /dev/tcp/192.0.2.1/80' 2>&1 | grep -q unreachable || exit 5", verifier.Exited, 0}, // at once, where there is no route
		{"ls /sys/class/net", verifier.Exited, 0},
		{"yes", verifier.Flooded, 137},
	})
	for _, runs := range facts.Replays {
		if strings.TrimSpace(runs[0].Tail) != "1" || strings.TrimSpace(runs[1].Tail) != "1000" || strings.TrimSpace(runs[6].Tail) != "lo" {
			t.Errorf("%+v", runs)
		}
	}
	if facts.Fence != "podman/runc" || !strings.HasPrefix(facts.Image, "localhost/git-ward:") {
		t.Errorf("%+v", facts)
	}
	verified(t, p, "3s", []judged{{"sleep infinity", verifier.TimedOut, 137}})
	testObserved(t, p)
}

// testObserved: what a command in a container opens is seen from outside (PROOF-2).
func testObserved(t *testing.T, p *machine) {
	for _, name := range []string{"opened.txt", "never.txt"} {
		if err := os.WriteFile(filepath.Join(p.Work, name), []byte("text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.Git("add", "opened.txt", "never.txt")
	tree := strings.TrimSpace(p.Git("write-tree"))
	commit := strings.TrimSpace(p.Git("commit-tree", "-p", "origin/main", "-m", "observed", tree))
	p.Git("rm", "--quiet", "--force", "opened.txt", "never.txt")
	p.Git("--git-dir", p.Bare, "fetch", "--quiet", p.Work, commit)
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(config, data, 0o644)
	configtest.Set(t, p.Bare, "[verify] work = [\"*.txt\"]")
	out, err := p.Try(p.Work, nil, "", "git-ward", "verify", "--bare", p.Bare, "--json", "--run", "read -r word || :; ! echo \"$word\" | grep . && cat \"$(ls | grep ^op)\"", commit)
	var facts verifier.Facts
	if jsonErr := json.Unmarshal([]byte(out), &facts); jsonErr != nil || err != nil {
		t.Fatal(jsonErr, err, out)
	}
	// COMMS.md, too, where reports were folded since the clone's checkout.
	if !slices.Equal(facts.Opened, []string{"opened.txt"}) || !slices.Contains(facts.NeverOpened, "never.txt") || facts.NotObserved != "" ||
		strings.TrimSpace(facts.Replays[0][0].Tail) != "text" {
		t.Errorf("opened %q, never %q, %s: %+v", facts.Opened, facts.NeverOpened, facts.NotObserved, facts.Replays)
	}
}

// verified has commands run in containers, twice, each at most for a time, and checks how
// they ended. One of them at least is not met.
func verified(t *testing.T, p *machine, timeout string, commands []judged) (facts verifier.Facts) {
	t.Helper()
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(config, data, 0o644)
	configtest.Set(t, p.Bare, "[verify] timeout = \""+timeout+"\"", "[verify] output_size = 1_048_576")
	args := []string{"verify", "--bare", p.Bare, "--json", "--replays", "2", "refs/heads/main"}
	for _, c := range commands {
		args = append(args, "--run", c.line)
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", args...)
	if jsonErr := json.Unmarshal([]byte(out), &facts); jsonErr != nil || err == nil { // exit 1: not all are met
		t.Fatal(jsonErr, err, out)
	}
	if len(facts.Replays) != 2 {
		t.Fatalf("%+v", facts)
	}
	for _, runs := range facts.Replays {
		for i, run := range runs {
			if c := commands[i]; run.End != c.end || run.Exit != c.exit {
				t.Errorf("%s: end %s, exit %d, want %s and %d\n%s", run.Line, run.End, run.Exit, c.end, c.exit, run.Tail)
			}
		}
	}
	return facts
}
