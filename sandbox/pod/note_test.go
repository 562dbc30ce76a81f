package pod

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary read a note in another namespace.
func TestMain(m *testing.M) {
	if path := os.Getenv("POD_TEST_NOTE"); path != "" {
		if _, err := Read(path); err != nil {
			os.Stdout.WriteString(err.Error())
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestNoteIsOfOneNamespace(t *testing.T) {
	own, err := Namespace()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "note")
	want := Note{Namespace: own, Hosts: []string{"192.0.2.1"}, Refused: []string{"192.0.2.1:10250"}, Resolver: "192.0.2.53"}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || len(got.Hosts) != 1 || got.Refused[0] != want.Refused[0] || got.Resolver != want.Resolver {
		t.Fatalf("%+v %v", got, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: another network namespace needs root")
	}
	other := exec.Command("unshare", "--net", os.Args[0])
	other.Env = append(os.Environ(), "POD_TEST_NOTE="+path)
	if out, err := other.Output(); err != nil || !strings.Contains(string(out), "nothing starts") {
		t.Errorf("in another namespace: %q %v", out, err)
	}
}

func TestBadNotes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "nobody's": `{}`, "unknown": `{"namespace":"1:1","x":1}`, "another": `{"namespace":"1:1"}`,
		"long": `{"namespace":"` + strings.Repeat("1", maxNote) + `"}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if n, err := Read(path); err == nil {
			t.Errorf("%s: %+v is believed", name, n)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "there is no note") {
		t.Error(err)
	}
}
