package kube

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/verifier"
)

// order is what the verifier's Job has been told; the lock is held.
func (c *cluster) order(t *testing.T) (o verifier.Order) {
	for path, object := range c.objects {
		if strings.Contains(path, "/configmaps/") {
			text := object["data"].(map[string]any)["order.json"].(string)
			if err := json.Unmarshal([]byte(text), &o); err != nil {
				t.Error(err)
			}
		}
	}
	return o
}

// TestVerify: a claim becomes a Job that may reach the gate and nothing else; who does not
// know its word brings nothing; its answer is the facts, and nothing is left of it.
func TestVerify(t *testing.T) {
	c, cluster := newCluster(t)
	e := engine(t, cluster)
	var err error
	if e.Scratch, err = os.MkdirTemp("", "ward-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(e.Scratch) })
	bring := func(word string) string {
		sockets, _ := filepath.Glob(filepath.Join(e.Scratch, "*", "sock"))
		if len(sockets) != 1 {
			t.Errorf("sockets: %v", sockets)
			return ""
		}
		text, _ := os.ReadFile(filepath.Join(e.Bare, keys.Path))
		if !strings.Contains(string(text), "'--verdict' '"+sockets[0]+"'") || strings.Contains(string(text), "--lease") {
			t.Errorf("the key: %s", text)
		}
		conn, err := net.Dial("unix", sockets[0])
		if err != nil {
			t.Error(err)
			return ""
		}
		defer conn.Close()
		a := verifier.NewAnswer(word, &verifier.Facts{Commit: "0123456789abcdef"}, nil)
		a.Write(conn)
		conn.(*net.UnixConn).CloseWrite()
		said, _ := io.ReadAll(conn)
		return string(said)
	}
	c.begun = func(job map[string]any) {
		o := c.order(t)
		if o.Commit != "0123456789abcdef" || o.Word == "" {
			t.Errorf("%+v", o)
		}
		for path, object := range c.objects {
			if text, _ := json.Marshal(object); strings.Contains(path, "/jobs/") && (strings.Contains(string(text), o.Word) || strings.Contains(string(text), "gateway/sock") || !strings.Contains(string(text), `\"allowlist\"`)) {
				t.Errorf("the Job shows the word, or leads to a model, or out: %s", text)
			}
		}
		c.pod(job, strings.ReplaceAll(runs, "agent", "verifier"))
		go func() {
			if said := bring("guessed"); said != "" {
				t.Errorf("a stranger's answer: %q", said)
			}
			if said := bring(o.Word); said != taken {
				t.Errorf("the answer: %q", said)
			}
		}()
	}
	claim := verifier.Claim{Commit: "0123456789abcdef", Main: "m", Commands: []verifier.Command{{Line: "true"}}, Replays: 1}
	facts, err := e.Verify(t.Context(), claim)
	if err != nil || facts.Commit != claim.Commit || len(c.objects) > 0 {
		t.Fatalf("%+v %v %v", facts, err, c.objects)
	}
	text, _ := os.ReadFile(filepath.Join(e.Bare, keys.Path))
	if left, _ := os.ReadDir(e.Scratch); len(left) > 0 || strings.Contains(string(text), "--verdict") {
		t.Errorf("left: %v, key %s", left, text)
	}
	c.begun = func(job map[string]any) { c.end(job, "Complete", "") }
	if facts, err := e.Verify(t.Context(), claim); err == nil || facts != nil || !strings.Contains(err.Error(), "without a result") {
		t.Errorf("a Job that brings nothing: %+v %v", facts, err)
	}
}

// TestInPodOnly: what ends all of a user's processes does nothing on a host.
func TestInPodOnly(t *testing.T) {
	p := InPod{Bare: "/", Order: "/dev/null", Result: "/nowhere"}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "verifier's pod") {
		t.Error(err)
	}
}
