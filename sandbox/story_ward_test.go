package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestStory36: Ward's own repository is adopted, and "`git ward --version` prints the
// version" is done, judged with the warm cache in the fence, reviewed and taken.
func TestStory36(t *testing.T) {
	tier.Full(t, "Ward's own repository, judged in containers")
	costly(t)
	p := fenced(t)
	dir := filepath.Join(filepath.Dir(p.Bare), "ward")
	adopted := &gittest.Pair{T: t, Bare: filepath.Join(dir, "ward.git"), Work: filepath.Join(dir, "work"), Env: p.Env}
	host := func(name string, args ...string) string { // with what this machine has
		t.Helper()
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	began := time.Now()
	took := func(what string) {
		t.Logf("%s took %s", what, time.Since(began).Round(time.Second))
		began = time.Now()
	}
	host("git", "clone", "--quiet", "--bare", "--single-branch", host("git", "rev-parse", "--show-toplevel"), adopted.Bare)
	host("git", "-C", adopted.Bare, "branch", "--move", "--force", host("git", "-C", adopted.Bare, "symbolic-ref", "--short", "HEAD"), "main")
	adopted.Run(dir, "git-ward", "init", "--bare", adopted.Bare)
	adopted.Run(dir, "git-ward", "clone", adopted.Bare, adopted.Work)
	took("the adoption")
	host("cp", "-al", filepath.Join(host("go", "env", "GOMODCACHE"), "cache/download"), filepath.Join(adopted.Bare, "modules"))
	config := filepath.Join(adopted.Bare, "ward/config.toml")
	settings, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	settings = []byte(strings.Replace(string(settings), "\ncache_sources = []", "\ncache_sources = [\"GOPROXY=file:///mnt/remote/modules\", \"GONOSUMDB=*\"]", 1))
	if err := os.WriteFile(config, settings, 0o644); err != nil {
		t.Fatal(err)
	}
	const edit = `sed -i 's/if name == "help" ||/if name == "--version" {\n\t\t\tname = "version"\n\t\t}\n\t\t&/' internal/cli/table.go`
	args, _ := json.Marshal(map[string]string{"command": edit})
	control := *adopted
	control.Work += ".ward"
	control.Write("script.jsonl", `{"directive":"D-1","text":"The option stands for the command.","calls":[{"name":"bash","args":`+string(args)+`}]}`+"\n"+`{"directive":"D-1","text":"--version prints what version prints."}`+"\n")
	control.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: `git ward --version` prints the version\nAs the command version does.\n"+
		"- [ ] it prints it (`go build -o /tmp/git-ward . && test \"$(/tmp/git-ward --version)\" = \"git-ward $(cat VERSION)\"`)\n- [ ] nothing else broke (`go test ./internal/cli`)\n\n## Reports\n")
	if out, err := control.Try(control.Work, nil, "", "sh", "-c", "git add -A && git commit -q -m 'a directive' && git push -q origin HEAD"); err != nil {
		t.Fatal(err, out)
	}
	adopted.Run(adopted.Work, "git-ward", "launch", "--bare", adopted.Bare, "--once", "--model", "script", "--state", filepath.Join(dir, "state"))
	took("the work and its verdict, with the cache to fill,")
	doc := control.Run(adopted.Bare, "git", "show", "ward:COMMS.md")
	for _, text := range []string{" D-1 EXIT_CONVERGED\n", "--version prints what version prints.", "internal/cli/table.go", "Next: git ward review D-1 ("} {
		if !strings.Contains(doc, text) {
			t.Fatalf("the report does not say %q:\n%s", text, doc)
		}
	}
	verify := func() {
		adopted.Run(adopted.Work, "git-ward", "verify", "--bare", adopted.Bare, "--run", "go test -count=1 ./internal/cli", "refs/heads/agent/D-1")
	}
	began = time.Now()
	verify()
	took("a warm verdict on one package")
	if review := adopted.Run(adopted.Work, "git-ward", "review", "D-1"); !strings.Contains(review, "table.go") {
		t.Error(review)
	}
	adopted.Run(adopted.Work, "git-ward", "take", "D-1")
	if got := adopted.Run(adopted.Bare, "git", "show", "main:internal/cli/table.go"); !strings.Contains(got, `name = "version"`) {
		t.Error("it is not on main")
	}
	took("the review and the merge")
	adopted.Fsck()
}
