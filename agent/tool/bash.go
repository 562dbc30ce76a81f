package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

type bashArgs struct {
	Command string `json:"command"`
}

func (b *Box) bash() Tool {
	return define("bash",
		fmt.Sprintf("Run a command by `bash -c` at the top of the working tree, for at most %s. Output and errors come back together, "+
			"at most %d bytes of them; the rest is in a file that the result names. Nothing can be typed, and what still runs in the "+
			"background when the command ends is killed.", b.Timeout, b.OutputSize),
		[]param{{name: "command", kind: "string", doc: "the command line"}},
		func(ctx context.Context, a bashArgs) (Result, error) {
			if strings.ContainsRune(a.Command, 0) {
				return fail("the command holds a NUL byte"), nil
			}
			cmd := Command{
				Args: []string{"bash", "-c", a.Command}, Dir: b.Dir, Env: b.Env, Timeout: b.Timeout,
				Kind: "bash", Logs: b.logs(), Size: b.OutputSize, Limit: logSize,
			}
			out, err := cmd.Run(ctx)
			if err != nil {
				return Result{}, err
			}
			return Result{Text: out.Text() + "[" + out.End() + "]", IsError: !out.OK(), Missing: out.Missing()}, nil
		})
}

func (b *Box) logs() string { return filepath.Join(b.State, "logs") }
