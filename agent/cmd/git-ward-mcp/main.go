// Command git-ward-mcp is `git ward mcp`: Ward's tools for any agent program, by
// the Model Context Protocol on stdin and stdout. It is a binary of its own so
// that the protocol's library costs no other command its start.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	agentcmd "git-ward/agent/command"
	"git-ward/agent/mcp"
	"git-ward/agent/program"
	"git-ward/agent/store"
	"git-ward/agent/tool"
	hooks "git-ward/hooks/command"
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/worktree"
	protocols "git-ward/protocols/command"
	"git-ward/protocols/plan"
	udc "git-ward/vm/command"
)

const usage = "mcp [--dir DIR] [--state DIR] [--task-id ID] [--ask FILE] [--config FILE]"

// main.go starts it with the word mcp; an agent program's settings may omit it.
func main() {
	cli.Main("git-ward", func(ctx context.Context, env *cli.Env) error {
		if len(env.Args) == 0 || strings.HasPrefix(env.Args[0], "-") && env.Args[0] != "--manual" {
			env.Args = append([]string{"mcp"}, env.Args...)
		}
		return cli.Part(cli.Command{Name: "mcp", Run: run})(ctx, env)
	})
}

// run serves until stdin ends.
func run(ctx context.Context, env *cli.Env) error {
	var dir, state, task, ask, file string
	err := env.Only("mcp", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&dir, "dir", ".", "the working tree `DIR`")
		fs.StringVar(&state, "state", "", "the agent's `DIR` for logs and signals (default .git/ward of the working tree)")
		fs.StringVar(&task, "task-id", "", "the task's `ID`: the directive at hand, such as D-1 (default that of the branch agent/D-1)")
		fs.StringVar(&ask, "ask", env.Getenv(program.AskVariable), "the `file` that takes a question to the PM (default $"+program.AskVariable+")")
		cli.Config(fs, &file)
	})
	if err != nil {
		return err
	}
	tree, err := worktree.Find(env.Path(dir))
	if err != nil {
		return err
	}
	if state == "" {
		state = filepath.Join(tree.Dir, ".git", "ward")
	}
	state = env.Path(state)
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	if task == "" {
		task = atHand(ctx, tree)
	}
	c := config.Default()
	o := mcp.Options{
		Version: "1",
		Box: &tool.Box{
			Dir: tree.Dir, State: state, Env: os.Environ(), Repo: store.Visit(tree.Dir, state),
			Timeout: c.Agent.BashTimeout.Duration, OutputSize: c.Agent.OutputSize, WriteSize: c.Limits.BlobSize,
		},
		Commands: map[string]mcp.Command{}, Task: task, Ask: ask,
	}
	redact := secret.Redactor()
	getenv := func(name string) string { // a client may not pass its environment on
		if name == config.Var && file != "" {
			return env.Path(file)
		}
		return env.Getenv(name)
	}
	for _, c := range []cli.Command{protocols.Plan(agentcmd.PlanRun(redact)), agentcmd.Task(redact), agentcmd.Research(redact),
		agentcmd.Orient(redact), agentcmd.Knowledge, udc.UDC, agentcmd.Lesson, hooks.Report(nil), protocols.UOW} {
		o.Commands[c.Name] = command(c.Call, tree.Dir, getenv)
	}
	server := mcp.New(o)
	err = server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(env.Stdin), Writer: nopCloser{cli.Raw(env.Stdout)}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // the client closed the connection, as usual
	}
	return err
}

// atHand is the directive of the checked out branch, such as agent/D-1 for a worker; "" for
// any other branch.
func atHand(ctx context.Context, tree *worktree.Tree) string {
	branch, err := tree.Git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	name, agents := strings.CutPrefix(strings.TrimSpace(branch), "agent/")
	if err != nil || !agents || !plan.IsName(name) {
		return ""
	}
	return name
}

// command runs a git ward command in a working tree, without input.
func command(f cli.Func, dir string, getenv func(string) string) mcp.Command {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		env := &cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Dir: dir, Getenv: getenv}
		return cli.Report(stderr, "git-ward", f(ctx, env))
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
