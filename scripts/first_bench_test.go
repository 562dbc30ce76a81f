package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/gittest"
)

// firstDirective is the shortest one of docs/quickstart.md's kind, with the script that
// plays its model: what the work itself takes is not Ward's.
const (
	firstDirective = "### D-1: a greeting\n\n- [ ] it is there (`grep -q hello greeting.txt`)\n- work: greeting.txt\n- max_iterations: 3\n"
	firstScript    = `{"directive":"D-1","text":"I write it.","calls":[{"name":"write_file","args":{"path":"greeting.txt","content":"hello\n"}}]}
{"directive":"D-1","text":"It is there."}
`
)

// TestBenchFirstDirective times the way of docs/quickstart.md for somebody who has nothing
// of Ward's yet: an empty HOME and an empty prefix, but built programs, and no fence, whose
// image is another machine's minutes. The baseline is git alone, without an agent.
func TestBenchFirstDirective(t *testing.T) {
	benchtest.Only(t)
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := filepath.Abs("../docs/demo/xstrings.bundle")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	prefix := filepath.Join(home, ".local")
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = A PM\n\temail = pm@example.org\n", 0o644)
	write(t, filepath.Join(dir, "directive"), firstDirective, 0o644)
	shell := func(script string) {
		t.Helper()
		cmd := exec.Command("sh", "-euc", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "PATH="+prefix+"/bin:"+os.Getenv("PATH"), "BUNDLE="+bundle)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	began := time.Now()
	run(t, 0, "install", "--prefix", prefix, "--from", bin)
	installed := time.Since(began)
	shell(`git clone -q --bare "$BUNDLE" project.git
git ward init --bare project.git
git ward clone project.git work`)
	write(t, filepath.Join(dir, "work.ward/script.jsonl"), firstScript, 0o644)
	shell(`cd work.ward; git add script.jsonl; git commit -q -m "what the script says"; git push -q origin ward
git ward directive new -F ../directive
cd ..; git ward launch --unfenced --once --bare project.git --model script --state state
cd work; git fetch -q; git ward review D-1; git ward take D-1`)
	took := time.Since(began)
	data, err := os.ReadFile(filepath.Join(dir, "work/greeting.txt"))
	if err != nil || strings.TrimSpace(string(data)) != "hello" {
		t.Fatalf("%q %v", data, err)
	}
	again := time.Now()
	shell(`git clone -q --bare "$BUNDLE" plain.git; git clone -q plain.git plain
cd plain; echo hello >greeting.txt; git add greeting.txt; git commit -q -m greeting; git push -q origin HEAD`)
	byHand := time.Since(again)
	benchtest.Against("install to the first directive taken, empty HOME, no fence, a script as model", took, "git clone, commit, push by hand", byHand)
	tried := time.Now()
	shell(`git clone -q "$BUNDLE" mine
cd mine; git ward try --unfenced --script ../work.ward/script.jsonl -m "$(cat ../directive)"; git ward try --remove`)
	benchtest.Against("git ward try, from a clone to the review, no fence, a script as model", time.Since(tried), "git clone, commit, push by hand", byHand)
	benchtest.Against("of it scripts/install of built programs", installed, "git clone, commit, push by hand", byHand)
}
