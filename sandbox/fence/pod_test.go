package fence

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/pod"
)

// enterVar makes of TestEnterPod a process in a pod's network namespace: it fences that, and
// tells the note.
const enterVar = "FENCE_TEST_POLICY"

// TestEnterPod fences a namespace as a pod's first container does, and reads what it noted.
func TestEnterPod(t *testing.T) {
	if text := os.Getenv(enterVar); text != "" {
		enterPod(t, text)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a network namespace of its own needs root")
	}
	for _, c := range []struct {
		name, policy string
		env          []string
		want         string // in the note or the error
	}{
		{"closed", `{"mode":"allowlist","gates":["203.0.113.7:22"],"gate_user":1002}`, []string{"WARD_NODE=203.0.113.1", "KUBERNETES_SERVICE_HOST=10.96.0.1", "KUBERNETES_SERVICE_PORT=443"},
			`"refused":["203.0.113.7:22","203.0.113.1:10250","10.96.0.1:443"]`},
		{"podman's", `{"mode":"public","gates":["203.0.113.7:22"],"gate_user":1002,"resolvers":["203.0.113.53"],"connections":10,"packets":10}`, nil, `"resolver":"203.0.113.53"`},
		{"no gate", `{"mode":"allowlist"}`, nil, "names no gate"},
		{"the node's own network", `{"mode":"allowlist","gates":["203.0.113.7:22"],"gate_user":1002}`, []string{"WARD_NODE=127.0.0.1"}, "127.0.0.1 is the node's address"},
		{"no node", `{"mode":"allowlist","gates":["203.0.113.7:22"],"gate_user":1002}`, []string{"WARD_NODE=$(NODE)"}, "is not an address of the node"},
		{"no API server", `{"mode":"allowlist","gates":["203.0.113.7:22"],"gate_user":1002}`, []string{"KUBERNETES_SERVICE_HOST=kubernetes"}, "is not an address"},
	} {
		cmd := exec.Command("unshare", "--net", "sh", "-c", "ip link set lo up && exec \"$0\" -test.run '^TestEnterPod$'", os.Args[0])
		cmd.Env = slices.Concat(os.Environ(), c.env, []string{enterVar + "=" + c.policy})
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v: %s\nhas no %s", c.name, err, out, c.want)
		}
	}
}

func enterPod(t *testing.T, text string) {
	var p firewall.Policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	note, err := EnterPod(context.Background(), p, os.Getenv, os.Stdout)
	if err != nil {
		fmt.Println(err)
		return
	}
	own, err := pod.Namespace()
	if err != nil || note.Namespace != own {
		t.Fatalf("%+v in %s: %v", note, own, err)
	}
	if len(p.Gates) != 1 || p.Gates[0] != netip.MustParseAddrPort("203.0.113.7:22") {
		t.Fatalf("the caller's policy was changed: %v", p.Gates)
	}
	line, _ := json.Marshal(note)
	fmt.Println(string(line))
}
