package fence

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"git-ward/sandbox/podman"
)

// TestKey: whatever would make another container makes another key: a field of the spec, another
// image of the same name, another directory in a mount's place.
func TestKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "programs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plain := func() *podman.Spec {
		return &podman.Spec{Image: "i", Env: map[string]string{"A": "1"}, Mounts: []podman.Mount{ReadOnly(dir, "/p")}}
	}
	keys := map[string]string{"as it is": Key(plain(), "sha256:1")}
	if again := Key(plain(), "sha256:1"); again != keys["as it is"] {
		t.Error("the same container has two keys")
	}
	for name, change := range map[string]func(*podman.Spec){
		"command": func(s *podman.Spec) { s.Command = []string{"x"} }, "environment": func(s *podman.Spec) { s.Env["A"] = "2" },
		"a limit": func(s *podman.Spec) { s.Limits.Memory = 1 }, "a mount": func(s *podman.Spec) { s.Mounts = nil },
	} {
		s := plain()
		change(s)
		keys[name] = Key(s, "sha256:1")
	}
	keys["another image"] = Key(plain(), "sha256:2")
	aside := dir + ".old" // which keeps its inode from the new one
	if err := os.Rename(dir, aside); err != nil {
		t.Fatal(err)
	}
	keys["no directory"] = Key(plain(), "sha256:1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	keys["another directory"] = Key(plain(), "sha256:1")
	if all := slices.Compact(slices.Sorted(maps.Values(keys))); len(all) != len(keys) {
		t.Errorf("%v", keys)
	}
}
