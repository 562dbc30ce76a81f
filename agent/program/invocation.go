package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/agent/gateway"
	"git-ward/agent/preset"
	"git-ward/agent/web"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// promptWord and directiveWord are filled in where a word of [model] command
// holds them.
const (
	promptWord    = "{prompt}"
	directiveWord = "{directive}"
)

// passed are variables of the agent's environment that a command gets in addition: those that
// lead clients to the gateway, with dummy keys, and toolchains' paths.
var passed = []string{
	gateway.Anthropic, "ANTHROPIC_API_KEY", gateway.OpenAI, "OPENAI_API_KEY",
	"GOROOT", "GOTOOLCHAIN", "GOCACHE", "GOMODCACHE", "JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// Check refuses settings with which the command, or the preset program, could not work.
func Check(c *config.Config) error {
	if p := preset.Of(c.Model.Name); p != nil {
		return checkPreset(p, c)
	}
	words := c.Model.Command
	if len(words) == 0 || words[0] == "" {
		return diag.Hint(errors.New(`[model] name = "exec" runs [model] command, which is empty`),
			`set it in <bare>/ward/config.toml, its words one by one, such as command = ["my-agent", "--prompt-file", "{prompt}"] with prompt = "file"`)
	}
	if c.Model.Prompt == "file" && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, promptWord) }) {
		return diag.Hint(errors.New(`[model] prompt = "file", but no word of [model] command holds {prompt}`),
			`put {prompt} where the command takes the file's path, or set prompt = "stdin"`)
	}
	return checkCommand(words[0])
}

// checkCommand refuses a program that is not there. One that the project has (./worker) is there
// once the project is.
func checkCommand(program string) error {
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		return nil
	}
	if err := preset.Runnable(program); err != nil {
		return diag.Hint(fmt.Errorf("[model] command: %w", err), "%s", uow.NoTool.Mend(""))
	}
	return nil
}

func checkPreset(p *preset.Preset, c *config.Config) error {
	if p.NeedsID && c.Model.ID == "" {
		return diag.Hint(fmt.Errorf("[model] name = %q needs [model] id, which is empty", p.Name),
			"set it in <bare>/ward/config.toml to the model's name, such as provider/name")
	}
	_, err := p.Find()
	if script := preset.Script(err); script != nil {
		return diag.Hint(fmt.Errorf("[model] name = %q: %w", p.Name, err),
			"take a release that is a program by itself, or an image with %s, or on the host: npm install --prefix DIR %s, where [sandbox] programs = \"DIR\"", script.Interpreter, script.Interpreter)
	}
	if err != nil {
		return diag.Hint(fmt.Errorf("[model] name = %q: the program %s is not there", p.Name, p.Program),
			"on the host: npm install --prefix DIR %s, then [sandbox] programs = \"DIR\" in <bare>/ward/config.toml; `git ward doctor` looks again", p.Package)
	}
	return nil
}

// invocation is how the command is started.
type invocation struct {
	args    []string // the program first
	env     []string // the whole environment
	tee     io.Writer
	heard   io.Writer       // of an unknown stream format
	reading *preset.Reading // reads its stream; nil for an unknown format
}

// invocation fills in the prompt's path. The watch gets the stream's events or, if the format
// is unknown, the output.
func (p *Program) invocation(prompt string, w *watch) (*invocation, error) {
	inv := &invocation{env: append(slices.Clone(p.Env), AskVariable+"="+p.askPath())}
	if url := p.Config.Search.URL; url != "" {
		inv.env = append(inv.env, web.Variable+"="+url)
	}
	for _, name := range passed {
		if v := p.Getenv(name); v != "" {
			inv.env = append(inv.env, name+"="+v)
		}
	}
	if p.Preset != nil {
		return inv, p.prepare(inv, w)
	}
	inv.heard = w.printed()
	fill := strings.NewReplacer(promptWord, prompt, directiveWord, p.Prompt.Directive.Name())
	for _, word := range p.Config.Model.Command {
		inv.args = append(inv.args, fill.Replace(word))
	}
	return inv, nil
}

// prepare adapts an invocation to a known program, with an empty home of its own and the
// agent's git settings.
func (p *Program) prepare(inv *invocation, w *watch) error {
	anthropic, err := gateway.URL(p.Getenv, gateway.Anthropic)
	if err != nil {
		return err
	}
	openai, err := gateway.URL(p.Getenv, gateway.OpenAI)
	if err != nil {
		return err
	}
	id := p.Config.Model.ID
	if p.Models != nil {
		id = p.Models.Name()
	}
	args, env, err := p.Preset.Prepare(preset.Setup{
		Home: filepath.Join(p.State, "home-"+p.Preset.Name), ID: id, Anthropic: anthropic, OpenAI: openai, Server: p.server(),
	})
	if errors.Is(err, os.ErrNotExist) {
		err = checkPreset(p.Preset, p.Config)
	}
	if err != nil {
		return err
	}
	stream := &preset.Stream{Preset: p.Preset}
	stream.Reading.Told, stream.Spent = w.told, w.spent
	inv.args, inv.tee, inv.reading = args, stream, &stream.Reading
	inv.env = append(append(inv.env, env...), "GIT_CONFIG_GLOBAL="+filepath.Join(p.State, "home", ".gitconfig"))
	return nil
}

// server is the command line of Ward's MCP server in the same tree; none if its binary is
// missing.
func (p *Program) server() []string {
	path := filepath.Join(filepath.Dir(p.Executable), "git-ward-mcp")
	if _, err := os.Stat(path); err != nil {
		p.Log.Warn().Err(err).Msg("the program gets no MCP server")
		return nil
	}
	args := []string{path, "mcp", "--dir", p.Dir, "--state", p.State, "--ask", p.askPath(), "--task-id", p.Prompt.Directive.Name()}
	if p.Settings != "" {
		args = append(args, "--config", p.Settings)
	}
	return args
}
