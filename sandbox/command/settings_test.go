package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/config"
)

// TestStatusWithBrokenSettings: what runs is said whatever somebody has written into the
// settings since, before what is wrong with them.
func TestStatusWithBrokenSettings(t *testing.T) {
	bare := t.TempDir()
	for name, text := range map[string]string{config.Path: "[egress]\nconnections = \"many\"\n", "ward/launch.lock": fmt.Sprintln(os.Getpid())} {
		if err := os.MkdirAll(filepath.Join(bare, "ward"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bare, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Open(filepath.Join(bare, "ward/launch.lock"))
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var out strings.Builder
	err = Main(nil)(context.Background(), envOf("status --bare "+bare, &out))
	if err == nil || !strings.Contains(err.Error(), "egress.connections is a text") || !strings.Contains(out.String(), fmt.Sprintf("the launcher, process %d, runs", os.Getpid())) {
		t.Errorf("%v\n%s", err, &out)
	}
}
