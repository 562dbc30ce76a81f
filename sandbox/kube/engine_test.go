package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/host"
)

const name = "d-3-1"

// jobOf is the one Job that the cluster has, nil for none; the lock is held.
func (c *cluster) job() map[string]any {
	for path, o := range c.objects {
		if filepath.Dir(path) == jobsPath {
			return o
		}
	}
	return nil
}

// start runs work, and returns how it ends.
func start(ctx context.Context, e *Engine, w Work) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx, w) }()
	return ended
}

func mayEnter(e *Engine) bool {
	text, _ := os.ReadFile(filepath.Join(e.Bare, keys.Path))
	return strings.Contains(string(text), "'--lease' 'D-3.01")
}

// TestRun: a Job is made with all that it needs before it begins, its words come through, and
// nothing is left of it, at the gate or in the cluster.
func TestRun(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	c.log = "2026-11-22T22:00:00.000000001Z one\n2026-11-22T22:00:00.000000002Z two\n"
	c.begun = func(job map[string]any) {
		if !mayEnter(e) {
			t.Error("the pod runs before the gate knows its key")
		}
		kinds := map[string]int{}
		for _, o := range c.objects {
			kinds[o["kind"].(string)]++
		}
		if kinds["Secret"] != 1 || kinds["ConfigMap"] != 1 || kinds["NetworkPolicy"] != 1 {
			t.Error("the pod runs before what it mounts is there: ", kinds)
		}
		c.pod(job, runs)
	}
	var out bytes.Buffer
	up := make(chan struct{})
	w := work(&out, nil)
	w.Up = func() { close(up) }
	ended := start(t.Context(), e, w)
	<-up
	c.change(func() { c.end(c.job(), "Complete", ""); e.works(t) })
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if out.String() != "one\ntwo\n" {
		t.Errorf("%q", &out)
	}
	if len(c.objects) > 0 || mayEnter(e) {
		t.Errorf("left: %v, key %v", c.objects, mayEnter(e))
	}
}

// TestFaults: whatever is wrong is told with its remedy, the Job is made once, and the work
// goes on when it is over.
func TestFaults(t *testing.T) {
	waiting := func(container, reason string) string {
		return `{"phase":"Pending","initContainerStatuses":[{"name":"` + container + `","state":{"waiting":{"reason":"` + reason + `","message":"its words"}},"lastState":{"terminated":{"exitCode":3,"message":"near's words"}}}]}`
	}
	for _, f := range []struct{ name, status, words, remedy string }{
		{"no room", `{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient memory."}]}`, "Insufficient memory", "[sandbox] memory"},
		{"no image", waiting("fence", "ErrImageNeverPull"), "ErrImageNeverPull its words", "[kube] image"},
		{"no pull", waiting("fence", "ImagePullBackOff"), "ImagePullBackOff", "[kube] image"},
		{"no config", waiting("near", "CreateContainerConfigError"), "near's words", "[kube] host_key_file"},
		{"no runtime", waiting("fence", "CreateContainerError"), "CreateContainerError", "docs/cluster.md"},
		{"no fence", `{"initContainerStatuses":[{"name":"fence","state":{"terminated":{"exitCode":2,"message":"operation not permitted"}}}]}`, "operation not permitted", "docs/cluster.md"},
		{"no gate", `{"initContainerStatuses":[{"name":"near","started":false,"state":{"running":{"startedAt":"2026-11-22T00:00:00Z"}}}]}`, "does not reach the gate 198.51.100.1:2222", "AuthorizedKeysFile"},
	} {
		t.Run(f.name, func(t *testing.T) {
			c, cluster := newCluster(t)
			e := engine(t, cluster)
			c.begun = func(job map[string]any) { c.pod(job, f.status) }
			var said told
			ended := start(t.Context(), e, work(nil, said.tell))
			await.True(t, f.words, func() bool { return said.has(f.words) && said.has(f.remedy) })
			c.change(func() { c.pod(c.job(), runs) })
			await.True(t, "that it is over", func() bool { return said.has("") && said.lines[len(said.lines)-1] == "" })
			c.change(func() { c.end(c.job(), "Complete", ""); e.works(t) })
			if err := <-ended; err != nil || c.count("POST "+jobsPath) != 1 {
				t.Error(err, c.count("POST "+jobsPath))
			}
		})
	}
}

// TestAway: an API server that is away, before the Job is made or while it runs, ends
// nothing, and nothing is done twice.
func TestAway(t *testing.T) {
	for _, when := range []string{"before", "while"} {
		t.Run(when, func(t *testing.T) {
			c, cluster := newCluster(t)
			e := engine(t, cluster)
			away := when == "before"
			c.fault = func(method, path string) (int, string) {
				if away {
					return 502, "dial tcp: connection refused"
				}
				return 0, ""
			}
			c.begun = func(job map[string]any) { c.pod(job, runs) }
			var said told
			ended := start(t.Context(), e, work(nil, said.tell))
			if when == "while" {
				await.True(t, "the pod runs", func() bool { return c.count("GET /api/v1/namespaces/ward/pods") > 1 })
				c.change(func() { away = true })
			}
			await.True(t, "that it is told", func() bool { return said.has("does not answer") && said.has("kubectl get") })
			if n := c.count(""); n > 20 {
				t.Errorf("asked %d times in a moment", n)
			}
			c.change(func() { away = false })
			await.True(t, "the pod runs", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.job() != nil && c.job()["spec"].(map[string]any)["suspend"] == false
			})
			c.change(func() { c.end(c.job(), "Complete", ""); e.works(t) })
			made := 0
			if err := <-ended; err != nil {
				t.Error(err)
			}
			for range c.count("POST " + jobsPath) {
				made++
			}
			if when == "while" && made != 1 {
				t.Errorf("%d Jobs were made", made)
			}
		})
	}
}

// TestLostAnswer: a Job that was made without our hearing of it is taken up, not made again.
func TestLostAnswer(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	lost := false
	c.fault = func(method, path string) (int, string) {
		if method == "POST" && strings.HasSuffix(path, "/secrets") && !lost {
			lost = true
			return 504, "a timeout"
		}
		return 0, ""
	}
	c.begun = func(job map[string]any) { c.end(job, "Complete", ""); e.works(t) }
	if err := e.Run(t.Context(), work(nil, nil)); err != nil || len(c.objects) > 0 {
		t.Error(err, c.objects)
	}
	if n := c.count("DELETE " + jobsPath); n != 1 {
		t.Errorf("the Job was deleted %d times", n)
	}
}

// TestTaken: somebody else's Job of that name is left alone, and said.
func TestTaken(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	path := jobsPath + "/" + e.name(t.Context(), "D-3")
	c.objects[path] = map[string]any{"kind": "Job", "spec": map[string]any{}, "metadata": map[string]any{"name": name, "uid": "theirs", "labels": map[string]any{"ward/gate": "another"}}}
	err := e.Run(t.Context(), work(nil, nil))
	var end *host.Ended
	if !errors.As(err, &end) || !strings.Contains(oneLine(err), "somebody else's") || !strings.Contains(oneLine(err), "delete job") {
		t.Error(err)
	}
	if c.objects[path] == nil || c.count("DELETE") > 0 || c.count("PATCH") > 0 || mayEnter(e) {
		t.Error("it was touched, or a key is left")
	}
}

// TestSomebodysCompanions: a Secret, a ConfigMap or a NetworkPolicy of a person's that has the
// Job's name stays as it is, and keeps no Job from being made. What an earlier Job of the
// lease left is made anew.
func TestSomebodysCompanions(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	w := work(nil, nil)
	theirs := map[string]map[string]any{}
	for _, kind := range []string{"/api/v1/namespaces/ward/secrets/", "/api/v1/namespaces/ward/configmaps/", "/apis/networking.k8s.io/v1/namespaces/ward/networkpolicies/"} {
		path := kind + e.name(t.Context(), "D-3")
		theirs[path] = map[string]any{"kind": "any", "metadata": map[string]any{"name": "theirs"}}
		c.objects[path] = theirs[path]
		c.objects[path+"-"+w.Lease.ID] = map[string]any{"kind": "old", "metadata": map[string]any{"name": "ours"}}
	}
	c.begun = func(job map[string]any) {
		pod := job["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		volumes, _ := json.Marshal(pod["volumes"])
		for path, o := range theirs {
			made := c.objects[path+"-"+w.Lease.ID]
			if made == nil || made["kind"] == "old" {
				t.Errorf("%s of the lease is %v", filepath.Base(filepath.Dir(path)), made)
			}
			if now := c.objects[path]; now == nil || now["kind"] != o["kind"] {
				t.Errorf("%s is %v", path, now)
			}
		}
		if n := strings.Count(string(volumes), e.name(t.Context(), "D-3")+"-"+w.Lease.ID+`"`); n != 2 {
			t.Errorf("the pod does not mount the lease's: %s", volumes)
		}
		c.end(job, "Complete", "")
		e.works(t)
	}
	if err := e.Run(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if len(c.objects) != len(theirs) {
		t.Errorf("left: %v", c.objects)
	}
}

// TestEarlierLease: a Job of an earlier lease of ours goes first, and its pod.
func TestEarlierLease(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	old := map[string]any{"kind": "Job", "spec": map[string]any{}, "metadata": map[string]any{"name": e.name(t.Context(), "D-3"), "uid": "old",
		"labels": map[string]any{"ward/gate": e.mark(), "app.kubernetes.io/managed-by": "git-ward", "ward/lease": "ffff", "ward/job": e.name(t.Context(), "D-3")}}}
	c.objects[jobsPath+"/"+e.name(t.Context(), "D-3")] = old
	c.pod(old, runs)
	c.begun = func(job map[string]any) {
		if job["metadata"].(map[string]any)["uid"] == "old" {
			t.Error("the old one goes on")
		}
		c.end(job, "Complete", "")
		e.works(t)
	}
	if err := e.Run(t.Context(), work(nil, nil)); err != nil || len(c.objects) > 0 {
		t.Error(err, c.objects)
	}
}

// TestDenied: what the launcher's user of the cluster may not do is told with the Role that
// it lacks, and tried again.
func TestDenied(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	denied := true
	c.fault = func(method, path string) (int, string) {
		if denied && method == "POST" && strings.HasSuffix(path, "/secrets") {
			return 403, `{"kind":"Status","code":403,"reason":"Forbidden","message":"secrets is forbidden"}`
		}
		return 0, ""
	}
	c.begun = func(job map[string]any) { c.end(job, "Complete", ""); e.works(t) }
	var said told
	ended := start(t.Context(), e, work(nil, said.tell))
	await.True(t, "that it is told", func() bool { return said.has("secrets is forbidden") && said.has("auth can-i") })
	c.change(func() { denied = false })
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestNoPod: a namespace that admits no such pod is told in the cluster's own words.
func TestNoPod(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	c.objects["/api/v1/namespaces/ward/events/x"] = map[string]any{"kind": "Event", "metadata": map[string]any{}, "reason": "FailedCreate",
		"message": `violates PodSecurity "baseline:latest": non-default capabilities`}
	var said told
	ctx, cancel := context.WithCancel(t.Context())
	ended := start(ctx, e, work(nil, said.tell))
	await.True(t, "that it is told", func() bool { return said.has("violates PodSecurity") && said.has("enforce=privileged") })
	cancel()
	<-ended
}

// TestEnds: how a Job ended badly is said, a new one may follow, and its work may have caused it.
func TestEnds(t *testing.T) {
	for _, f := range []struct{ status, reason, words string }{
		{`{"phase":"Failed","containerStatuses":[{"name":"agent","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`, "BackoffLimitExceeded", "agent: exit 137 OOMKilled"},
		{`{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}`, "BackoffLimitExceeded", "Evicted The node was low"},
		{`{"phase":"Failed","containerStatuses":[{"name":"agent","state":{"terminated":{"exitCode":2,"message":"the fence does not hold\u001b[2J"}}}]}`, "PodFailurePolicy", `the fence does not hold\x1b[2J`},
		{`{"phase":"Running"}`, "DeadlineExceeded", "DeadlineExceeded"},
	} {
		c, cluster := newCluster(t)
		e := engine(t, cluster)
		c.begun = func(job map[string]any) {
			c.pod(job, f.status)
			c.end(job, "Failed", f.reason)
		}
		err := e.Run(t.Context(), work(nil, nil))
		var end *host.Ended
		if err == nil || errors.As(err, &end) || !strings.Contains(err.Error(), f.words) || len(c.objects) > 0 || mayEnter(e) {
			t.Errorf("%s: %v %v", f.reason, err, c.objects)
		}
	}
}

// TestRevoked: when the lease goes, so do Job, pod and key, before Run returns. A Job that
// somebody deleted is an end, and so is a near that ends again and again: no work has caused them.
func TestRevoked(t *testing.T) {
	for name, act := range map[string]func(c *cluster, cancel func()){
		"revoked": func(_ *cluster, cancel func()) { cancel() },
		"deleted": func(c *cluster, _ func()) {
			c.change(func() { c.remove(jobsPath + "/" + c.job()["metadata"].(map[string]any)["name"].(string)) })
		},
		"near": func(c *cluster, _ func()) {
			c.change(func() {
				c.pod(c.job(), `{"initContainerStatuses":[{"name":"near","restartCount":6,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1}}}]}`)
			})
		},
	} {
		c, cluster := newCluster(t)
		e := engine(t, cluster)
		c.begun = func(job map[string]any) { c.pod(job, runs) }
		up := make(chan struct{})
		w := work(nil, nil)
		w.Up = func() { close(up) }
		ctx, cancel := context.WithCancel(t.Context())
		ended := start(ctx, e, w)
		<-up
		act(c, cancel)
		if err := await.Value(t, "the end after "+name, ended); !errors.As(err, new(*host.Ended)) || len(c.objects) > 0 || mayEnter(e) {
			t.Errorf("%s: %v %v", name, err, c.objects)
		}
		cancel()
	}
}

// TestNothingLeft: a Job that ends well and leaves nothing is no reason for the next one at
// once.
func TestNothingLeft(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	c.begun = func(job map[string]any) { c.end(job, "Complete", "") }
	var end *host.Ended
	if err := e.Run(t.Context(), work(nil, nil)); !errors.As(err, &end) || len(c.objects) > 0 {
		t.Error(err, c.objects)
	}
}

// TestSweep: what an earlier launcher left goes, and nobody else's.
func TestSweep(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	for name, mark := range map[string]string{"ours": e.mark(), "theirs": "another"} {
		c.objects[jobsPath+"/"+name] = map[string]any{"kind": "Job", "metadata": map[string]any{"name": name, "uid": name, "labels": map[string]any{"ward/gate": mark}}}
	}
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.objects[jobsPath+"/ours"] != nil || c.objects[jobsPath+"/theirs"] == nil {
		t.Error(c.objects)
	}
}
