// Command git-ward is the one program that people run: `git ward <command>`.
// This file is the table of its commands and embeds what they need.
package main

import (
	"embed"
	"io/fs"

	agentcmd "git-ward/agent/command"
	hooks "git-ward/hooks/command"
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	protocols "git-ward/protocols/command"
	trycmd "git-ward/sandbox/try/command"
	udc "git-ward/vm/command"
)

//go:embed all:hooks/template
var files embed.FS

func main() {
	template, err := fs.Sub(files, "hooks/template")
	if err != nil {
		panic(err) // the path is a constant
	}
	redact := secret.Redactor()
	table := &cli.Table{Program: "git ward", About: "Ward: an autonomous coding agent behind a fence, with git as its only channel.", Values: protocols.Values(), Default: hooks.Here, Groups: []cli.Group{
		{Title: "for the PM", Commands: []cli.Command{
			trycmd.Try, hooks.Status, hooks.Clone, hooks.Lint, hooks.Log, hooks.Why, hooks.Report(cli.Exec("git-ward-view", "report")),
			{Name: "watch", Doc: "show what the agent does, as it does it", Run: cli.Exec("git-ward-view", "watch")},
			hooks.Transcript,
			{Name: "serve", Doc: "show the repository in a browser, live and read-only", Run: cli.Exec("git-ward-view", "serve")},
			protocols.Directive, protocols.Review, protocols.Include, protocols.Take, protocols.Drop, protocols.UOW, udc.UDC,
		}},
		{Title: "for the PM and the agent, in a clone", Commands: []cli.Command{
			protocols.Plan(agentcmd.PlanRun(redact)), agentcmd.Task(redact), agentcmd.Agent, agentcmd.Research(redact), protocols.FSM,
			protocols.Protocol, agentcmd.Lesson,
			{Name: "mcp", Hidden: true, Doc: "offer Ward's tools to any agent program, on stdin and stdout", Run: cli.Exec("git-ward-mcp", "mcp")},
			agentcmd.Orient(redact), agentcmd.Knowledge,
		}},
		{Title: "for the host admin", Commands: []cli.Command{
			hooks.Init(config.Initial, template, cli.Exec("git-ward-forge", "init")),
			{Name: "launch", Doc: "start the agent on a repository", Run: cli.Exec("git-ward-launch", "launch")},
			{Name: "door", Hidden: true, Doc: "serve git to the holder of one ssh key, by name", Run: cli.Exec("git-ward-launch", "door")},
			{Name: "near", Hidden: true, Doc: "stand for the gate beside an agent on another machine", Run: cli.Exec("git-ward-launch", "near")},
			{Name: "forge", Doc: "keep the repository in step with a project on a forge", Run: cli.Exec("git-ward-forge", "forge")},
			{Name: "verify", Doc: "run a directive's commands on a commit, elsewhere", Run: cli.Exec("git-ward-launch", "verify")},
			{Name: "image", Doc: "build the container image", Run: cli.Exec("git-ward-launch", "image")},
			{Name: "probe", Doc: "try every promise of the fence from inside; --rules: show its rules", Run: cli.Exec("git-ward-launch", "probe")},
			{Name: "fence", Hidden: true, Doc: "put the rules of a pod in place, from its init container", Run: cli.Exec("git-ward-launch", "fence")},
			{Name: "doctor", Doc: "say what a fence needs that this machine lacks", Run: cli.Exec("git-ward-launch", "doctor")},
			hooks.Lease, hooks.Fsck, hooks.Redact, hooks.Maintain,
			hooks.Config, cli.VersionCommand,
		}},
	}}
	cli.Main("git-ward", table.Run)
}
