package command

import (
	"bytes"
	"strings"
	"testing"

	"git-ward/internal/cli"
)

func TestMainNamesItsCommands(t *testing.T) {
	var out bytes.Buffer
	if err := Main(t.Context(), &cli.Env{Args: []string{"help"}, Stdout: &out, Stderr: &out}); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"watch", "serve", "report"} {
		if !strings.Contains(out.String(), "\n  "+verb+" ") {
			t.Errorf("no %s in:\n%s", verb, &out)
		}
	}
}
