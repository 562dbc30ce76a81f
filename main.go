// Command git-ward is the one program that people run: `git ward <command>`.
// This file is the table of its commands and embeds what they need.
package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	agentcmd "git-ward/agent/command"
	hooks "git-ward/hooks/command"
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	protocols "git-ward/protocols/command"
	udc "git-ward/vm/command"
)

//go:embed VERSION
var version string

//go:embed all:hooks/template
var files embed.FS

func main() {
	template, err := fs.Sub(files, "hooks/template")
	if err != nil {
		panic(err) // the path is a constant
	}
	redact := secret.Redactor()
	cli.Main("git-ward", cli.Dispatch("git ward", "Ward: an autonomous coding agent behind a fence, with git as its only channel.", []cli.Group{
		{Title: "for the PM", Commands: []cli.Command{
			{Name: "clone", Doc: "clone a ward repository with its audit", Run: hooks.Clone},
			{Name: "lint", Doc: "run the hooks' checks before a push", Run: hooks.Lint},
			{Name: "log", Doc: "show every push, refused ones too", Run: hooks.Log},
			{Name: "report", Doc: "append a report to COMMS.md; --html DIR: write the pages of the repository", Run: hooks.Report},
			{Name: "watch", Doc: "show what the agent does, as it does it", Run: cli.Exec("git-ward-view", "watch")},
			{Name: "serve", Doc: "show the repository in a browser, live and read-only", Run: cli.Exec("git-ward-view", "serve")},
			{Name: "directive", Doc: "list, show, write and edit directives", Run: protocols.Directive},
			{Name: "review", Doc: "show a directive's work: what decided, what changed, what it cost", Run: protocols.Review},
			{Name: "take", Doc: "merge a directive's judged work into the project", Run: protocols.Take},
			{Name: "drop", Doc: "close a directive without taking its work", Run: protocols.Drop},
			{Name: "uow", Doc: "show the units of work; approve, pause, clarify, cancel them", Run: protocols.UOW},
			{Name: "udc", Doc: "run, analyze, check, format and trace plans for the UDC machine", Run: udc.UDC},
		}},
		{Title: "for the PM and the agent, in a clone", Commands: []cli.Command{
			{Name: "plan", Doc: "lint, analyze, register, list and run plans", Run: protocols.Plan(
				cli.Command{Name: "run", Doc: "execute a plan, a commit a step, or go on with it", Run: agentcmd.PlanRun(redact)})},
			{Name: "task", Doc: "begin or close the work on a directive", Run: agentcmd.Task(redact)},
			{Name: "agent", Doc: "show what the agent would be told of a directive", Run: agentcmd.Agent},
			{Name: "research", Doc: "plan and run deep research", Run: agentcmd.Research(redact)},
			{Name: "fsm", Doc: "list, show and draw the machines", Run: protocols.FSM},
			{Name: "protocol", Doc: "change protocols and compile AGENTS.md", Run: protocols.Protocol},
			{Name: "lesson", Doc: "turn post-mortems into lessons, and lessons into commits", Run: agentcmd.Lesson},
			{Name: "mcp", Doc: "offer Ward's tools to any agent program, on stdin and stdout", Run: cli.Exec("git-ward-mcp", "mcp")},
			{Name: "orient", Doc: "say who the agent is, what the repository holds, what the place allows", Run: agentcmd.Orient(redact)},
			{Name: "knowledge", Doc: "build the symbols and the dependency graph", Run: agentcmd.Knowledge},
		}},
		{Title: "for the host admin", Commands: []cli.Command{
			{Name: "init", Doc: "make or mend the bare repository that Ward guards", Run: hooks.Init([]byte(config.Shipped), template)},
			{Name: "launch", Doc: "start the agent on a repository", Run: cli.Exec("git-ward-launch", "launch")},
			{Name: "door", Doc: "serve git to the holder of one ssh key, by name", Run: cli.Exec("git-ward-launch", "door")},
			{Name: "verify", Doc: "run a directive's commands on a commit, elsewhere", Run: cli.Exec("git-ward-launch", "verify")},
			{Name: "image", Doc: "build the container image", Run: cli.Exec("git-ward-launch", "image")},
			{Name: "probe", Doc: "try every promise of the fence from inside", Run: cli.Exec("git-ward-launch", "probe")},
			{Name: "firewall", Doc: "show the rules of the fence", Run: cli.Exec("git-ward-launch", "firewall")},
			{Name: "status", Doc: "say what runs on a repository", Run: cli.Exec("git-ward-launch", "status")},
			{Name: "doctor", Doc: "say what a fence needs that this machine lacks", Run: cli.Exec("git-ward-launch", "doctor")},
			{Name: "fsck", Doc: "prove that the audit is whole", Run: hooks.Fsck},
			{Name: "redact", Doc: "take a file out of the whole history, with a tombstone", Run: hooks.Redact},
			{Name: "maintain", Doc: "pack the repository, outside pushes", Run: hooks.Maintain},
			{Name: "config", Doc: "print every setting with its default", Run: printText(config.Shipped)},
			{Name: "version", Doc: "print the version", Run: printText("git-ward " + strings.TrimSpace(version) + "\n")},
		}},
	}))
}

func printText(text string) cli.Func {
	return func(_ context.Context, env *cli.Env) error {
		_, err := fmt.Fprint(env.Stdout, text)
		return err
	}
}
