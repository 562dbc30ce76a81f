package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// cut leaves of Ward's source the watcher, and internal/cli with its tests, in a commit on
// its history: the cache compiles all of a project, tests too, and all of Ward takes minutes.
// The modules that are left are put, from the machine's own cache, where a GOPROXY looks.
const cut = `set -e
bare=$1 modules=$2 work=$3 cache=$(go env GOMODCACHE)
git clone -q --single-branch "$(git rev-parse --show-toplevel)" "$work"
cd "$work"
git checkout -q -B main
go list -test -deps -f '{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}' ./internal/cli ./bootstrap/cmd/ward-watcher | sed "s,^$(pwd -P)/,," | sort -u >.git/keep
git ls-files | awk '
	FILENAME != "-" { keep[$0] = 1; next }
	/\.go$/ && !/\// || /_test\.go$/ && !/^internal\/cli\// { print; next }
	/\// { dir = $0; while (sub("/[^/]*$", "", dir)) if (dir in keep) next; print }' .git/keep - >.git/drop
git rm -q --pathspec-from-file=.git/drop
GOFLAGS=-mod=mod GOPROXY=off go mod tidy
git -c user.name=PM -c user.email=pm@example.org commit -q -a -m "the watcher alone"
GOFLAGS=-modcacherw GOMODCACHE=$modules GOPROXY=file://$cache/cache/download GONOSUMDB='*' go mod download
git clone -q --bare "$work" "$bare"
`

// TestStory36: Ward's own repository is adopted, and "Ward is of version 9.9.9" is done,
// judged with the warm cache in the fence, reviewed and taken.
func TestStory36(t *testing.T) {
	tier.Full(t, "a part of Ward, judged in containers")
	p := fenced(t)
	dir := filepath.Join(filepath.Dir(p.Bare), "ward")
	adopted := &gittest.Pair{T: t, Bare: filepath.Join(dir, "ward.git"), Work: filepath.Join(dir, "work"), Env: p.Env}
	began := time.Now()
	took := func(what string) {
		t.Logf("%s took %s", what, time.Since(began).Round(time.Second))
		began = time.Now()
	}
	modules := filepath.Join(dir, "modules")
	if out, err := exec.Command("sh", "-c", cut, "sh", adopted.Bare, modules, filepath.Join(dir, "cut")).CombinedOutput(); err != nil { // with what this machine has
		t.Fatalf("%v\n%s", err, out)
	}
	took("the cut")
	adopted.Run(dir, "git-ward", "init", "--bare", adopted.Bare)
	adopted.Run(dir, "git-ward", "clone", adopted.Bare, adopted.Work)
	took("the adoption")
	if err := os.Rename(filepath.Join(modules, "cache/download"), filepath.Join(adopted.Bare, "modules")); err != nil {
		t.Fatal(err)
	}
	configtest.Set(t, adopted.Bare, `cache_sources = ["GOPROXY=file:///mnt/remote/modules", "GONOSUMDB=*"]`, `work = ["**"]`) // of lines without a directive
	const edit = `sed -i "s/^const Version = \"$(cat VERSION)\"/const Version = \"9.9.9\"/" internal/cli/version.go && echo 9.9.9 >VERSION`
	args, _ := json.Marshal(map[string]string{"command": edit})
	control := *adopted
	control.Work += ".ward"
	control.Write("script.jsonl", `{"directive":"D-1","text":"Two files say it.","calls":[{"name":"bash","args":`+string(args)+`}]}`+"\n"+`{"directive":"D-1","text":"Both files say 9.9.9."}`+"\n")
	control.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: Ward is of version 9.9.9\nWherever it says so.\n"+
		"- [ ] it prints it (`go build -o /tmp/w ./bootstrap/cmd/ward-watcher && test \"$(/tmp/w --version)\" = \"ward-watcher 9.9.9\"`)\n- [ ] nothing else broke (`go test -short ./internal/cli`)\n- work: VERSION, internal/cli/version.go\n\n## Reports\n")
	if out, err := control.Try(control.Work, nil, "", "sh", "-c", "git add -A && git commit -q -m 'a directive' && git push -q origin HEAD"); err != nil {
		t.Fatal(err, out)
	}
	adopted.Run(adopted.Work, "git-ward", "launch", "--bare", adopted.Bare, "--once", "--model", "script", "--state", filepath.Join(dir, "state"))
	took("the work and its verdict, with the cache to fill,")
	doc := control.Run(adopted.Bare, "git", "show", "ward:COMMS.md")
	for _, text := range []string{" D-1 EXIT_CONVERGED\n", "Both files say 9.9.9.", "internal/cli/version.go", "Next: git ward review D-1 ("} {
		if !strings.Contains(doc, text) {
			t.Fatalf("the report does not say %q:\n%s", text, doc)
		}
	}
	verify := func() {
		adopted.Run(adopted.Work, "git-ward", "verify", "--bare", adopted.Bare, "--run", "go test -short -count=1 ./internal/cli", "refs/heads/agent/D-1")
	}
	began = time.Now()
	verify()
	took("a warm verdict on one package")
	if review := adopted.Run(adopted.Work, "git-ward", "review", "D-1"); !strings.Contains(review, "version.go") {
		t.Error(review)
	}
	adopted.Run(adopted.Work, "git-ward", "take", "D-1")
	if got := adopted.Run(adopted.Bare, "git", "show", "main:VERSION"); got != "9.9.9\n" {
		t.Error("it is not on main")
	}
	took("the review and the merge")
	adopted.Fsck()
}
