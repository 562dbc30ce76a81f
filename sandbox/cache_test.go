package sandbox

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/configtest"
	"git-ward/internal/tier"
	"git-ward/sandbox/verifier"
)

// testCache: a project's modules are there for a verdict without a network, compiled;
// a claim writes neither into the cache nor chooses what is in it (LOOP-12).
func testCache(t *testing.T, p *machine) {
	proxy := filepath.Join(p.Bare, "modules") // seen inside, and no network is needed
	writeModule(t, proxy, "example.org/dep", "package dep\n\nfunc Answer() int { return 42 }\n")
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		os.WriteFile(config, data, 0o644)
		os.RemoveAll(proxy)
		os.RemoveAll(filepath.Join(p.Bare, "ward/cache"))
	}()
	configtest.Set(t, p.Bare, `cache_sources = ["GOPROXY=file:///mnt/remote/modules", "GONOSUMDB=*"]`)
	p.Git("fetch", "--quiet")
	p.Git("checkout", "--quiet", "-B", "main", "origin/main")
	p.Write("go.mod", "module example.org/p\n\ngo 1.21\n\nrequire example.org/dep v1.0.0\n")
	p.Write("p.go", "package p\n\nimport \"example.org/dep\"\n\nvar Answer = dep.Answer()\n")
	sum := exec.Command("go", "mod", "tidy")
	sum.Dir = p.Work
	sum.Env = append(os.Environ(), "GOPROXY=file://"+proxy, "GONOSUMDB=*", "GOFLAGS=-mod=mod -modcacherw", "GOMODCACHE="+filepath.Join(t.TempDir(), "mod"))
	if out, err := sum.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	push := func(branch string) string {
		p.Git("add", "--all")
		p.Git("commit", "--quiet", "--message", "some")
		if out, err := p.Push(branch); err != nil {
			t.Fatal(err, out)
		}
		return strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	}
	commit := push("main")
	verify := func(lines ...string) (f verifier.Facts) {
		t.Helper()
		args := []string{"verify", "--bare", p.Bare, "--json"}
		for _, line := range lines {
			args = append(args, "--run", line)
		}
		out, _ := p.Try(p.Work, nil, "", "git-ward", append(args, commit)...)
		if err := json.Unmarshal([]byte(out), &f); err != nil {
			t.Fatal(err, out)
		}
		return f
	}
	const warm = `test -z "$(go build -v ./... 2>&1)"` // it says what it compiles
	if f := verify("go vet ./...", warm, "rm -rf $GOCACHE/* && go build ./... && touch $GOCACHE/x", "! touch /ward/cache/x && ! touch $GOMODCACHE/x"); !f.OK() || !strings.HasPrefix(f.Cache, "go of main's ") {
		t.Errorf("%+v", f)
	}
	if f := verify(warm, "test ! -e $GOCACHE/x"); !f.OK() {
		t.Errorf("%+v", f)
	}
	// A claim that wants another module gets what main's lockfiles name.
	p.Git("checkout", "--quiet", "-B", "agent/cache")
	p.Write("go.mod", "module example.org/p\n\ngo 1.21\n\nrequire example.org/evil v1.0.0\n")
	p.Write("p.go", "package p\n\nimport _ \"example.org/evil\"\n")
	commit = push("agent/cache")
	if f := verify("! go build ./..."); !f.OK() || !strings.Contains(f.Cache, "the claim has another go.mod, and got what main's names (push the claim's to main") {
		t.Errorf("%+v", f)
	}
	entries, err := os.ReadDir(filepath.Join(p.Bare, "ward/cache"))
	if err != nil || len(entries) != 2 { // the entry, and the lock of who fills
		t.Error(entries, err)
	}
}

// writeModule makes version v1.0.0 of a module in a directory that is a module proxy.
func writeModule(t *testing.T, dir, name, source string) {
	t.Helper()
	at := filepath.Join(dir, name, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	mod := "module " + name + "\n\ngo 1.21\n"
	for file, text := range map[string]string{"list": "v1.0.0\n", "v1.0.0.mod": mod, "v1.0.0.info": `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`} {
		if err := os.WriteFile(filepath.Join(at, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(at, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for file, text := range map[string]string{"go.mod": mod, "dep.go": source} {
		w, err := z.Create(name + "@v1.0.0/" + file)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBenchVerdict is a second verdict on a Go project with the dependencies that Ward
// itself has, against the same command where all of it is warm (LOOP-12).
func TestBenchVerdict(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	p := fenced(t)
	const sources = "GOPROXY=file:///mnt/remote/modules"
	configtest.Set(t, p.Bare, "cache_sources = [\""+sources+"\", \"GONOSUMDB=*\"]")
	p.Write("p_test.go", `package p

import (
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/storage/memory"
)

func TestInit(t *testing.T) {
	if _, err := git.Init(memory.NewStorage(), nil); err != nil {
		t.Fatal(err)
	}
}
`)
	modules := t.TempDir()
	env := append(os.Environ(), "GOMODCACHE="+modules, "GOFLAGS=-modcacherw", "GONOSUMDB=*")
	host := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Env = p.Work, env
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	own, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(own)), "\n")
	env = append(env, "GOPROXY=file://"+cache+"/cache/download,"+proxy) // first the modules that this machine has
	host("go", "mod", "init", "example.org/p")
	host("go", "get", "-t", "github.com/go-git/go-git/v5@v5.19.3")
	host("go", "mod", "tidy")
	host("go", "mod", "download")
	host("cp", "-a", filepath.Join(modules, "cache/download"), filepath.Join(p.Bare, "modules"))
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "--message", "a project with dependencies")
	if out, err := p.Push("HEAD:refs/heads/main"); err != nil {
		t.Fatal(err, out)
	}
	verdict := func() {
		p.Run(p.Work, "git-ward", "verify", "--bare", p.Bare, "--run", "go test -count=1 ./...", "refs/heads/main")
	}
	command := func() { host("go", "test", "-count=1", "./...") }
	filled, _ := benchtest.Timed(verdict)
	command() // and now both are warm
	var ward, plain, wardUsed, plainUsed []time.Duration
	for range 5 {
		took, used := benchtest.Timed(verdict)
		ward, wardUsed = append(ward, took), append(wardUsed, used)
		took, used = benchtest.Timed(command)
		plain, plainUsed = append(plain, took), append(plainUsed, used)
	}
	t.Logf("the first verdict, with the cache to fill, took %v", filled)
	benchtest.Against("the second verdict on a Go project", benchtest.Median(ward), "the command, warm", benchtest.Median(plain))
	// The project as it is, with its test broken, and with its test saying what it came to.
	const trees = 3
	benchtest.Against("the same, processor time", benchtest.Median(wardUsed), "three trees, each the command, warm", trees*benchtest.Median(plainUsed))
}
