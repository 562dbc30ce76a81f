package cluster_test

import (
	"regexp"
	"strings"
	"testing"
)

// step is a command of docs/cluster.md, and what is shown of its output, if it is.
var step = regexp.MustCompile("(?ms)^```(sh|console) needs=kube\n(.*?)^```$")

// TestDocument does what docs/cluster.md says, from its YAML to the namespace's end.
func TestDocument(t *testing.T) {
	l := newLab(t)
	l.empty()
	l.write("ward.yaml", document(t, "```yaml file=ward.yaml\n")[0], 0o644)
	g := l.newGate("true")
	blocks := step.FindAllStringSubmatch(whole(t), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		if b[1] == "sh" {
			t.Logf("$ %s%s", b[2], l.sh(strings.ReplaceAll(b[2], "git ward ", "git-ward ")))
			if strings.Contains(b[2], "--once") {
				g.proved("D-1")
			}
			continue
		}
		for _, part := range strings.Split("\n"+b[2], "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if got := l.sh(command); got != strings.TrimSpace(want) {
				t.Errorf("$ %s prints %q, and %q is shown", command, got, want)
			}
		}
	}
}
