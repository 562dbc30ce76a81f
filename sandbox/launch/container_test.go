package launch

import (
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/sandbox/firewall"
)

// The first process leads to the gateway, and to the proxy where there is no other way out.
func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		payload Payload
		mode    firewall.Mode
		first   string
		want    string
	}{
		{Payload{Command: []string{"sh", "-c", "id"}}, firewall.Public, "--gateway /ward/gateway/sock", "sh -c id"},
		{Payload{Command: []string{"id"}}, firewall.Allowlist, "--gateway /ward/gateway/sock --proxy", "id"},
		{Payload{Model: "script", Once: true}, firewall.Public, "--gateway /ward/gateway/sock", "/ward/bin/ward-watcher --agent /ward/bin/ward-agent" +
			" --agent-user 1000 --bare /mnt/remote --state /bot --door /ward/door/sock --config /ward/config/config.toml --model script --report-door /ward/watcher/sock"},
	} {
		w := &worker{launch: &launch{spec: Spec{State: "/s", Settings: config.Default()}, policy: firewall.Policy{Mode: c.mode}}, payload: c.payload, watcher: &watcherDoor{}}
		if got := strings.Join(w.commandLine(), " "); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
		if got := strings.Join(w.gatewayFlags(), " "); got != c.first {
			t.Errorf("%s\nwant\n%s", got, c.first)
		}
	}
	w := &worker{only: "D-1", payload: Payload{Once: true, Reset: true}} // which comes when the container is there
	if got := w.assignment(); strings.Join(got.Args, " ") != "--once --reset --directive D-1" || strings.Join(got.Env, " ") != "WARD_LEASE=D-1" {
		t.Errorf("%+v", got)
	}
}
