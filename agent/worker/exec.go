package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/agent/preset"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

const (
	// wordsSize bounds the last lines of a command that go into the report, and
	// with them the message of a commit.
	wordsSize = 4 << 10
	// commandOutput is how much a command may print before it is stopped. An agent
	// may chatter for hours; the file of its output takes less (tool.Command).
	commandOutput = 1 << 30
)

// promptWord and directiveWord are filled in where a word of [model] command
// holds them.
const (
	promptWord    = "{prompt}"
	directiveWord = "{directive}"
)

// passed are the variables of the agent's own environment that a command gets in
// addition to those of all its children: what ward-inside set to lead clients to
// the gateway, with keys that stand for none, and where toolchains are.
var passed = []string{
	"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY",
	"GOROOT", "GOTOOLCHAIN", "GOCACHE", "GOMODCACHE", "JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// checkCommand refuses settings with which a command could not work.
func checkCommand(c *config.Config) error {
	words := c.Model.Command
	if len(words) == 0 || words[0] == "" {
		return diag.Hint(errors.New(`[model] name = "exec" runs [model] command, which is empty`),
			`set it in <bare>/ward/config.toml, its words one by one, such as command = ["my-agent", "--prompt-file", "{prompt}"] with prompt = "file"`)
	}
	if c.Model.Prompt == "file" && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, promptWord) }) {
		return diag.Hint(errors.New(`[model] prompt = "file", but no word of [model] command holds {prompt}`),
			`put {prompt} where the command takes the file's path, or set prompt = "stdin"`)
	}
	return nil
}

// command is a worker that is run once, and once more for each refusal. It keeps
// nothing in between but the working tree.
type command struct {
	*job
	system string         // SYSTEM.md and COMMS.md
	preset *preset.Preset // what is run; nil: [model] command
	calls  int            // of tools in the last run; 0 where nobody knows
}

func (j *job) newCommand(system string) *command {
	return &command{job: j, system: system, preset: preset.Of(j.Config.Model.Name)}
}

func (c *command) do(ctx context.Context, refusal string) (string, error) {
	if refusal != "" {
		refusal = refusalText(c.work.Branch, refusal)
	}
	path, err := c.writePrompt(refusal)
	if err != nil {
		return "", err
	}
	defer os.Remove(path)
	start := time.Now()
	out, reading, err := c.run(ctx, path)
	if err != nil {
		return "", err
	}
	if c.preset != nil {
		return c.ended(out, reading)
	}
	last := out.Tail(wordsSize)
	if out.OK() {
		return cmp.Or(last, "The command printed nothing.") + uncounted(time.Since(start)), nil
	}
	failed := stop.New(stop.Unfinished, "The command of [model] command failed: %s.", out.End())
	unpaid(failed, last)
	if last != "" {
		failed.Output = fmt.Sprintf("The last of its output (logs/%s has more):\n\n%s", filepath.Base(out.Log()), indent(last))
	}
	return "", failed
}

// run runs the command in the working tree, with the prompt as its stdin or with
// nothing.
func (c *command) run(ctx context.Context, prompt string) (*tool.Outcome, *preset.Reading, error) {
	set := c.Config.Model
	cmd := tool.Command{
		Dir: c.work.Dir(), Env: c.environ(), Timeout: set.Timeout.Duration,
		Kind: "exec", Logs: filepath.Join(c.State, "logs"), Size: 2 * wordsSize, Limit: commandOutput,
	}
	var reading *preset.Reading
	if c.preset != nil {
		var err error
		if reading, err = c.prepare(&cmd); err != nil {
			return nil, nil, err
		}
	} else {
		fill := strings.NewReplacer(promptWord, prompt, directiveWord, c.directive.Name())
		for _, word := range set.Command {
			cmd.Args = append(cmd.Args, fill.Replace(word))
		}
	}
	if c.preset != nil || set.Prompt != "file" {
		stdin, err := os.Open(prompt)
		if err != nil {
			return nil, nil, err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	c.log.Info().Str("command", diag.Clean(cmd.Args[0])).Dur("timeout_ms", cmd.Timeout).Msg("the command begins")
	start := time.Now()
	out, err := cmd.Run(ctx)
	if err != nil {
		if ctx.Err() == nil {
			err = diag.Hint(fmt.Errorf("[model] command: %w", err), "the command must be there where the agent runs: inside the fence, in the image")
		}
		return nil, nil, err
	}
	event := c.log.Info()
	if !out.OK() {
		event = c.log.Warn()
	}
	event.Str("end", out.End()).Dur("ms", time.Since(start)).Str("output", out.Log()).Msg("the command ended")
	return out, reading, nil
}

func (c *command) environ() []string {
	env := c.store.Environ()
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// refusal is what the command is told.
func refusalText(branch, findings string) string {
	return fmt.Sprintf("The push of %s was refused:\n\n%s\nWhat the server does not have is in the working tree, uncommitted. "+
		"Mend it there and end: it is then committed and pushed again.", branch, findings)
}

// writePrompt writes all that the command is told to a file that it may read,
// outside of the working tree, and returns its path.
func (c *command) writePrompt(refusal string) (string, error) {
	dir := filepath.Join(c.State, "prompt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, c.directive.Name()+".md")
	return path, atomicfile.Write(path, []byte(c.prompt(refusal)), 0o600)
}

// prompt is the system prompt, the directive, why its push was refused, and how
// to end. All of it each time: the command that is run again is a new one.
func (c *command) prompt(refusal string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(c.system, "\n"))
	fmt.Fprintf(&b, "\n\n# Your directive: %s\n\n%s\n", c.directive.Name(), strings.TrimRight(c.directive.Raw, "\n"))
	if c.memory != "" {
		b.WriteString("\n" + c.memory)
	}
	if refusal != "" {
		fmt.Fprintf(&b, "\n# Your work was refused\n\n%s\n", refusal)
	}
	fmt.Fprintf(&b, `
# How to end

You are in a git working tree, on the branch %s. Work there. Commit, or leave
changes in the working tree: both are pushed when you end, and what you leave
running is ended. Nobody answers questions. Exit 0 when the work is done, and
with another code when it cannot be done. The last lines you print become the
report.
`, c.work.Branch)
	return b.String()
}
