package worker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"git-ward/agent/preset"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// checkProgram refuses settings with which a known program could not work.
func checkProgram(p *preset.Preset, c *config.Config) error {
	if p.NeedsID && c.Model.ID == "" {
		return diag.Hint(fmt.Errorf("[model] name = %q needs [model] id, which is empty", p.Name),
			"set it in <bare>/ward/config.toml to the model's name, such as provider/name")
	}
	if _, err := p.Find(); err != nil {
		return diag.Hint(fmt.Errorf("[model] name = %q: the program %s is not there", p.Name, p.Program),
			"on the host: npm install --prefix DIR %s, then [sandbox] programs = \"DIR\" in <bare>/ward/config.toml; `git ward doctor` looks again", p.Package)
	}
	return nil
}

// prepare completes a command to the program's, in a home of its own that begins
// empty, with git settings that are the agent's.
func (c *command) prepare(cmd *tool.Command) (*preset.Reading, error) {
	anthropic, err := gatewayURL("ANTHROPIC_BASE_URL")
	if err != nil {
		return nil, err
	}
	openai, err := gatewayURL("OPENAI_BASE_URL")
	if err != nil {
		return nil, err
	}
	args, env, err := c.preset.Prepare(preset.Setup{
		Home: filepath.Join(c.State, "home-"+c.preset.Name), ID: c.Config.Model.ID, Anthropic: anthropic, OpenAI: openai, Server: c.server(),
	})
	if errors.Is(err, os.ErrNotExist) {
		err = checkProgram(c.preset, c.Config)
	}
	if err != nil {
		return nil, err
	}
	stream := &preset.Stream{Preset: c.preset}
	stream.Reading.Called = func(name string) {
		c.log.Info().Str("tool", diag.Clean(name)).Msg("call")
	}
	cmd.Args, cmd.Env, cmd.Tee = args, append(cmd.Env, env...), stream
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+filepath.Join(c.State, "home", ".gitconfig"))
	return &stream.Reading, nil
}

// server is the command line of Ward's MCP server for a program, which works in
// the same tree; none where its binary is not beside the agent's.
func (c *command) server() []string {
	path := filepath.Join(filepath.Dir(c.Executable), "git-ward-mcp")
	if _, err := os.Stat(path); err != nil {
		c.log.Warn().Err(err).Msg("the program gets no MCP server")
		return nil
	}
	return []string{path, "mcp", "--dir", c.work.Dir(), "--state", c.State}
}

// ended is the end of a known program: its last words with what it did, or why
// it did not come to its end. An exit code alone is not believed.
func (c *command) ended(out *tool.Outcome, r *preset.Reading) (string, error) {
	c.calls = r.Calls
	t := tally{Turns: r.Turns, Calls: r.Calls, Usage: r.Usage}
	if out.OK() && r.Ended {
		return tool.Tail(cmp.Or(r.Words, c.preset.Name+" said nothing."), wordsSize) + t.sentence(), nil
	}
	failed := stop.New(stop.Unfinished, "%s ended without a result: %s.", c.preset.Name, out.End())
	why := cmp.Or(r.Failed, out.Tail(wordsSize))
	unpaid(failed, why)
	if why != "" {
		failed.Output = fmt.Sprintf("It said (logs/%s has more):\n\n%s", filepath.Base(out.Log()), indent(tool.Tail(why, wordsSize)))
	}
	return "", failed
}

// uncounted is what a report says of a command whose stream is not known: its
// calls cannot be counted, its time can (AGT-3).
func uncounted(took time.Duration) string {
	return fmt.Sprintf("\n\n(It took %s; its calls of tools are not counted, because Ward does not know its output.)", took.Round(time.Second))
}
