package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/lease"
	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/firewall"
)

// cluster is as much of an API server as a launch asks of one, in memory. What Kubernetes
// does by itself a test does by changing it.
type cluster struct {
	mu      sync.Mutex
	objects map[string]map[string]any // by path
	asked   []string                  // METHOD PATH
	moved   chan struct{}             // closed at each change
	version int                       // counts them
	// fault may answer in the cluster's place: code 0 leaves it to the cluster.
	fault func(method, path string) (code int, body string)
	begun func(job map[string]any) // a Job is no longer suspended; the lock is held
	log   string
}

func newCluster(t *testing.T) (*cluster, *Cluster) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ward-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &cluster{objects: map[string]map[string]any{}, moved: make(chan struct{})}
	l, err := net.Listen("unix", filepath.Join(dir, "kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: c}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return c, &Cluster{Namespace: "ward", http: client(filepath.Join(dir, "kubectl"))}
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	if c.fault != nil {
		if code, body := c.fault(r.Method, r.URL.Path); code != 0 {
			w.WriteHeader(code)
			io.WriteString(w, body)
			return
		}
	}
	refuse := func(code int, reason string) {
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "code": code, "reason": reason, "message": r.URL.Path + ": " + reason})
	}
	var body map[string]any
	json.NewDecoder(r.Body).Decode(&body)
	path := r.URL.Path
	switch {
	case r.Method == http.MethodPost:
		meta := body["metadata"].(map[string]any)
		path += "/" + meta["name"].(string)
		if c.objects[path] != nil {
			refuse(409, "AlreadyExists")
			return
		}
		meta["uid"] = fmt.Sprintf("uid-%d", len(c.asked))
		c.put(path, body)
		w.WriteHeader(201)
		json.NewEncoder(w).Encode(body)
	case strings.HasSuffix(path, "/log"):
		io.WriteString(w, c.log)
	case r.URL.Query().Get("watch") != "":
		c.wait(w, r)
	case c.objects[path] == nil && strings.HasSuffix(path, "s") && r.Method == http.MethodGet: // a collection
		json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(c.version)}, "items": c.below(path, r.URL.Query())})
	case c.objects[path] == nil:
		refuse(404, "NotFound")
	case r.Method == http.MethodDelete:
		c.remove(path)
		io.WriteString(w, "{}")
	case r.Method == http.MethodPatch:
		c.objects[path]["spec"].(map[string]any)["suspend"] = false
		if c.begun != nil {
			c.begun(c.objects[path])
		}
		c.move()
		io.WriteString(w, "{}")
	default:
		json.NewEncoder(w).Encode(c.objects[path])
	}
}

// wait is a watch: it answers when something changes, or its time is over.
func (c *cluster) wait(w http.ResponseWriter, r *http.Request) {
	moved := c.moved
	if r.URL.Query().Get("resourceVersion") != strconv.Itoa(c.version) { // something was missed
		moved = make(chan struct{})
		close(moved)
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	seconds, _ := time.ParseDuration(r.URL.Query().Get("timeoutSeconds") + "s")
	select {
	case <-moved:
		io.WriteString(w, `{"type":"MODIFIED","object":{}}`+"\n")
	case <-time.After(seconds):
	case <-r.Context().Done():
	}
}

func (c *cluster) below(path string, q url.Values) (items []map[string]any) {
	items = []map[string]any{}
	want, value, _ := strings.Cut(q.Get("labelSelector"), "=")
	for at, o := range c.objects {
		labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
		if filepath.Dir(at) == path && (want == "" || labels[want] == value) {
			items = append(items, o)
		}
	}
	return items
}

// remove deletes an object and all that it owns, as the cluster's collector does.
func (c *cluster) remove(path string) {
	uid := c.objects[path]["metadata"].(map[string]any)["uid"]
	delete(c.objects, path)
	for at, o := range c.objects {
		owners, _ := o["metadata"].(map[string]any)["ownerReferences"].([]any)
		if len(owners) > 0 && owners[0].(map[string]any)["uid"] == uid {
			delete(c.objects, at)
		}
	}
	c.move()
}

func (c *cluster) put(path string, o map[string]any) {
	c.objects[path] = o
	c.move()
}

func (c *cluster) move() {
	c.version++
	close(c.moved)
	c.moved = make(chan struct{})
}

// change changes the cluster as its own parts would.
func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.move()
}

// count is how often something was asked.
func (c *cluster) count(what string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asked {
		if strings.HasPrefix(a, what) {
			n++
		}
	}
	return n
}

const jobsPath = "/apis/batch/v1/namespaces/ward/jobs"

// pod puts a Job's pod into the cluster; the lock is held.
func (c *cluster) pod(job map[string]any, status string) {
	meta := job["metadata"].(map[string]any)
	name := meta["name"].(string) + "-abcde"
	var s map[string]any
	if err := json.Unmarshal([]byte(status), &s); err != nil {
		panic(err)
	}
	c.put("/api/v1/namespaces/ward/pods/"+name, map[string]any{"status": s, "metadata": map[string]any{
		"name": name, "labels": meta["labels"], "creationTimestamp": "2026-11-22T22:00:00Z",
		"ownerReferences": []any{map[string]any{"uid": meta["uid"]}},
	}})
}

// end has a Job end; the lock is held.
func (c *cluster) end(job map[string]any, kind, reason string) {
	job["status"] = map[string]any{"conditions": []any{map[string]any{"type": kind, "status": "True", "reason": reason}}}
}

const runs = `{"phase":"Running","containerStatuses":[{"name":"agent","state":{"running":{}}}]}`

// engine is one on an empty repository.
func engine(t *testing.T, c *Cluster) *Engine {
	t.Helper()
	bare := t.TempDir()
	gittest.Git(t, bare, "init", "-q", "--bare", ".")
	if err := os.MkdirAll(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := config.Default()
	s.Kube.Gate = "ssh://git@198.51.100.1:2222/p.git"
	gate, err := NewGate(context.Background(), &s.Kube, "")
	if err != nil {
		t.Fatal(err)
	}
	gate.HostKey = "ssh-ed25519 AAAA"
	return &Engine{Plan: &Plan{Bare: bare, Settings: s, Image: "ward:1", Model: "script", Gate: gate, Policy: firewall.Policy{Mode: firewall.Allowlist}},
		Cluster: c, Repo: git.Open(bare), Keys: keys.File{Bare: bare, Program: "/usr/bin/git-ward"}, Log: zerolog.Nop()}
}

// works has a Job's agent leave something: its record moves.
func (e *Engine) works(t *testing.T) {
	empty := strings.TrimSpace(gittest.Git(t, e.Bare, "hash-object", "-t", "tree", "-w", "/dev/null"))
	commit := strings.TrimSpace(gittest.Git(t, e.Bare, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "work", empty))
	gittest.Git(t, e.Bare, "update-ref", "refs/ward/record/D-3.1", commit)
}

// told collects what people are told.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (t *told) tell(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

func (t *told) has(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		if strings.Contains(l, text) {
			return true
		}
	}
	return false
}

func work(out io.Writer, tell func(string)) Work {
	l := lease.New("D-3", [lease.IDBytes]byte{1}, "host.1", "kube ward/x", time.Now(), time.Minute)
	return Work{Directive: "D-3", Lease: l, Until: time.Now().Add(time.Hour), Stdout: out, Told: tell}
}
