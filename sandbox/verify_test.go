package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/sandbox/verifier"
)

// testVerify: commands of a claim in containers of their own, which have no way
// out, keep nothing, and end at their limits.
func testVerify(t *testing.T, p *machine) {
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(config, data, 0o644)
	text := strings.Replace(string(data), "\ntimeout = \"30m\"\noutput_size = 67_108_864", "\ntimeout = \"3s\"\noutput_size = 1_048_576", 1)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil || text == string(data) {
		t.Fatal(err)
	}
	p.Git("fetch", "--quiet")
	head := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	cases := []struct {
		line string
		end  string
		exit int
	}{
		{"git rev-parse HEAD && test -z \"$(git status --porcelain)\" && test ! -e left && touch left /tmp/left", verifier.Exited, 0},
		{"id -u; exit 9", verifier.Exited, 9},
		{"ls /ward/door/sock", verifier.Exited, 2},
		{"touch /mnt/remote/x || exit 4", verifier.Exited, 4},
		{"ls /mnt/remote/ward/* || exit 4", verifier.Exited, 4},
		{"timeout 2 bash -c 'echo > /dev/tcp/192.0.2.1/80' || exit 5", verifier.Exited, 5},
		{"ls /sys/class/net", verifier.Exited, 0},
		{"sleep 100", verifier.TimedOut, 137},
		{"yes", verifier.Flooded, 137},
	}
	args := []string{"verify", "--bare", p.Bare, "--json", "--replays", "2", "refs/heads/main"}
	for _, c := range cases {
		args = append(args, "--run", c.line)
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", args...)
	var facts verifier.Facts
	if jsonErr := json.Unmarshal([]byte(out), &facts); jsonErr != nil || err == nil { // exit 1: not all are met
		t.Fatal(jsonErr, err, out)
	}
	for _, runs := range facts.Replays {
		for i, run := range runs {
			if run.End != cases[i].end || run.Exit != cases[i].exit {
				t.Errorf("%s: end %s, exit %d, want %s and %d\n%s", run.Line, run.End, run.Exit, cases[i].end, cases[i].exit, run.Tail)
			}
		}
		if strings.TrimSpace(runs[0].Tail) != head || strings.TrimSpace(runs[1].Tail) != "1000" || strings.TrimSpace(runs[6].Tail) != "lo" {
			t.Errorf("%+v", runs)
		}
	}
	if facts.Fence != "podman/runc" || !strings.HasPrefix(facts.Image, "localhost/git-ward:") || len(facts.Replays) != 2 {
		t.Errorf("%+v", facts)
	}
}
