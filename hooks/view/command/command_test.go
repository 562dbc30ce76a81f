package command

import (
	"bytes"
	"strings"
	"testing"

	"git-ward/internal/cli"
)

// TestMainIsOfGitWard: whoever starts the program by hand is told of its commands.
func TestMainIsOfGitWard(t *testing.T) {
	var out bytes.Buffer
	err := Main(t.Context(), &cli.Env{Args: []string{"nothing"}, Stdout: &out, Stderr: &out})
	if err == nil || !strings.Contains(err.Error(), "started by git-ward") {
		t.Error(err)
	}
}
