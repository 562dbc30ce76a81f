// Package config reads Ward's settings.
//
// Every setting has its default and its reason in config.toml at Ward's root; a
// test holds Default to it. The copy in the bare repository,
// <bare>/ward/config.toml, is the only one that counts (CONF-1).
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"git-ward/internal/filename"
)

// Path is where the settings of a bare repository are, below its directory.
const Path = "ward/config.toml"

// maxSize bounds the file; the one Ward ships has a few kilobytes.
const maxSize = 1 << 20

// Config is every setting. The fields are documented in config.toml.
type Config struct {
	Identity Identity `toml:"identity"`
	Rights   struct {
		AgentMerge      bool     `toml:"agent_merge"`
		UnfencedMerge   bool     `toml:"unfenced_merge"`
		Protected       []string `toml:"protected"`
		ProtectedOnMain []string `toml:"protected_on_main"`
		AgentBranches   int      `toml:"agent_branches"`
	} `toml:"rights"`
	Limits struct {
		InputSize    int64    `toml:"input_size"`
		BlobSize     int64    `toml:"blob_size"`
		PushSize     int64    `toml:"push_size"`
		Commits      int      `toml:"commits"`
		ChangedPaths int      `toml:"changed_paths"`
		Depth        int      `toml:"depth"`
		PathLength   int      `toml:"path_length"`
		MessageSize  int64    `toml:"message_size"`
		SecretScan   int64    `toml:"secret_scan"`
		Memory       int64    `toml:"memory"`
		Alloc        int64    `toml:"alloc"`
		CPU          Duration `toml:"cpu"`
		Deadline     Duration `toml:"deadline"`
	} `toml:"limits"`
	Audit struct {
		Foreign []string `toml:"foreign"`
	} `toml:"audit"`
	Hooks struct {
		MaxUDCRisk string   `toml:"max_udc_risk"`
		UDCTime    Duration `toml:"udc_time"`
	} `toml:"hooks"`
	Door struct {
		Burst     int      `toml:"burst"`
		PerMinute int      `toml:"per_minute"`
		Time      Duration `toml:"time"`
	} `toml:"door"`
	Egress struct {
		Mode  string   `toml:"mode"`
		Allow []string `toml:"allow"`
	} `toml:"egress"`
	Sandbox struct {
		Image     string   `toml:"image"`
		Processes int64    `toml:"processes"`
		Memory    int64    `toml:"memory"`
		CPUs      float64  `toml:"cpus"`
		Files     int64    `toml:"files"`
		TmpSize   int64    `toml:"tmp_size"`
		StateSize int64    `toml:"state_size"`
		Resolvers []string `toml:"resolvers"`
		Programs  string   `toml:"programs"`
	} `toml:"sandbox"`
	Budget struct {
		Tokens int64    `toml:"tokens"`
		Cost   string   `toml:"cost"` // a decimal; no float on that path
		Time   Duration `toml:"time"`
		Grace  Duration `toml:"grace"`
	} `toml:"budget"`
	Loop   Loop `toml:"loop"`
	Verify struct {
		Timeout         Duration `toml:"timeout"`
		OutputSize      int64    `toml:"output_size"`
		CheckoutEntries int      `toml:"checkout_entries"`
		CheckoutDepth   int      `toml:"checkout_depth"`
		CheckoutSize    int64    `toml:"checkout_size"`
		Network         string   `toml:"network"`
		Suite           string   `toml:"suite"`
		Pinned          []string `toml:"pinned"`
	} `toml:"verify"`
	Model struct {
		Name             string   `toml:"name"`
		ID               string   `toml:"id"`
		API              string   `toml:"api"`
		Context          int64    `toml:"context"`
		MaxOutput        int64    `toml:"max_output"`
		Tries            int      `toml:"tries"`
		Patience         Duration `toml:"patience"`
		Silence          Duration `toml:"silence"`
		Script           string   `toml:"script"`
		Command          []string `toml:"command"`
		Prompt           string   `toml:"prompt"`
		Timeout          Duration `toml:"timeout"`
		AnthropicURL     string   `toml:"anthropic_url"`
		AnthropicKeyFile string   `toml:"anthropic_key_file"`
		OpenAIURL        string   `toml:"openai_url"`
		OpenAIKeyFile    string   `toml:"openai_key_file"`
	} `toml:"model"`
	Prices []Price `toml:"prices"`
	Agent  struct {
		Loop            bool     `toml:"loop"`
		VerdictPatience Duration `toml:"verdict_patience"`
		Poll            Duration `toml:"poll"`
		BashTimeout     Duration `toml:"bash_timeout"`
		OutputSize      int      `toml:"output_size"`
		MaxTurns        int      `toml:"max_turns"`
		Refusals        int      `toml:"refusals"`
	} `toml:"agent"`
	Search struct {
		URL string `toml:"url"`
	} `toml:"search"`
	Bootstrap struct {
		Build           []string `toml:"build"`
		Validate        []string `toml:"validate"`
		Run             []string `toml:"run"`
		BuildTimeout    Duration `toml:"build_timeout"`
		ValidateTimeout Duration `toml:"validate_timeout"`
		StartTimeout    Duration `toml:"start_timeout"`
		Check           Duration `toml:"check"`
	} `toml:"bootstrap"`
	Guard struct {
		CPU       float64  `toml:"cpu"`
		CPUWindow Duration `toml:"cpu_window"`
		Memory    int64    `toml:"memory"`
		Logs      int64    `toml:"logs"`
		Restarts  int      `toml:"restarts"`
	} `toml:"guard"`
	VM struct {
		Calls           []string `toml:"calls"`
		MaxInstructions int64    `toml:"max_instructions"`
		MaxCells        int64    `toml:"max_cells"`
		MaxTime         Duration `toml:"max_time"`
		MaxOutput       int64    `toml:"max_output"`
	} `toml:"vm"`
}

// Loop is what a bounded loop has where its directive says nothing (seed 003,
// section 6.1). Its fields are those of protocols/loop.Base, so that one converts
// to the other.
type Loop struct {
	Profile                  string   `toml:"profile"`
	Rp                       string   `toml:"r_p"` // a decimal; no float on that path
	MaxIterations            int      `toml:"max_iterations"`
	MaxToolCallsPerIteration int      `toml:"max_tool_calls_per_iteration"`
	MaxSecondsPerIteration   int      `toml:"max_seconds_per_iteration"`
	MaxTotalSeconds          int      `toml:"max_total_seconds"`
	MaxTotalToolCalls        int      `toml:"max_total_tool_calls"`
	DependsOn                []string `toml:"depends_on"`
}

// Price is what a model costs per million tokens, in decimals.
type Price struct {
	Model      string `toml:"model"`
	Input      string `toml:"input"`
	Output     string `toml:"output"`
	CacheRead  string `toml:"cache_read"`
	CacheWrite string `toml:"cache_write"`
}

// Duration is a time.Duration written as "90s".
type Duration struct{ time.Duration }

// UnmarshalText reads what time.ParseDuration reads, if it is positive.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v <= 0 {
		err = fmt.Errorf("%q is not a positive time", text)
	}
	d.Duration = v
	return err
}

// Default is what config.toml at Ward's root says.
func Default() *Config {
	c := new(Config)
	c.Identity = Identity{PM: []string{}, Agents: []string{}, Members: []string{}}
	c.Rights.Protected = protected()
	c.Rights.ProtectedOnMain = []string{"/spec/"}
	c.Rights.AgentBranches = 200
	l := &c.Limits
	l.InputSize, l.BlobSize, l.PushSize = 64<<20, 10<<20, 256<<20
	l.Commits, l.ChangedPaths, l.Depth, l.PathLength = 10_000, 100_000, 100, 1024
	l.MessageSize, l.SecretScan = 64<<10, 16<<20
	l.Memory, l.Alloc = 4<<30, 512<<20
	l.CPU, l.Deadline = Duration{time.Minute}, Duration{9 * time.Second}
	c.Audit.Foreign = []string{"refs/pull/", "refs/pull-requests/", "refs/merge-requests/", "refs/keep-around/", "refs/environments/", "refs/pipelines/", "refs/changes/"}
	c.Hooks.MaxUDCRisk, c.Hooks.UDCTime = "UNKNOWN", Duration{5 * time.Second}
	c.Door.Burst, c.Door.PerMinute, c.Door.Time = 120, 30, Duration{2 * time.Minute}
	c.Egress.Mode, c.Egress.Allow = "public", []string{}
	b := &c.Sandbox
	b.Processes, b.Memory, b.CPUs, b.Files = 1024, 4<<30, 2, 4096
	b.TmpSize, b.StateSize, b.Resolvers = 1<<30, 10<<30, []string{}
	c.Budget.Tokens, c.Budget.Cost, c.Budget.Time = 20_000_000, "50", Duration{24 * time.Hour}
	c.Budget.Grace = Duration{10 * time.Minute}
	c.Loop = Loop{"strict", "1e-10", 10, 80, 1800, 14400, 500, []string{}}
	v := &c.Verify
	v.Timeout, v.OutputSize, v.Network = Duration{30 * time.Minute}, 64<<20, "none"
	v.CheckoutEntries, v.CheckoutDepth, v.CheckoutSize = 200_000, 100, 4<<30
	v.Pinned = []string{
		"**/*_test.go", "**/testdata/**", "**/test_*.py", "**/*_test.py", "**/conftest.py",
		"**/*.test.*", "**/*.spec.*", "**/__tests__/**", "**/*Test.java", "**/*_spec.rb",
		"test/**", "tests/**", "**/Makefile", "**/makefile", "**/GNUmakefile", "**/pytest.ini", "**/tox.ini",
	}
	c.Model.Script, c.Model.Command, c.Model.Prompt = "script.jsonl", []string{}, "stdin"
	c.Model.Timeout = Duration{2 * time.Hour}
	c.Model.API, c.Model.Context, c.Model.MaxOutput, c.Model.Tries = "responses", 200_000, 16_000, 6
	c.Model.Patience, c.Model.Silence = Duration{30 * time.Minute}, Duration{5 * time.Minute}
	a := &c.Agent
	a.Loop, a.VerdictPatience = true, Duration{6 * time.Hour}
	a.Poll, a.BashTimeout = Duration{10 * time.Minute}, Duration{10 * time.Minute}
	a.OutputSize, a.MaxTurns, a.Refusals = 16<<10, 200, 3
	w := &c.Bootstrap
	w.Build, w.Validate, w.Run = []string{}, []string{}, []string{}
	w.BuildTimeout, w.ValidateTimeout = Duration{30 * time.Minute}, Duration{time.Hour}
	w.StartTimeout, w.Check = Duration{time.Minute}, Duration{10 * time.Minute}
	g := &c.Guard
	g.CPU, g.CPUWindow, g.Memory, g.Logs, g.Restarts = 0.9, Duration{2 * time.Hour}, 3584<<20, 1<<30, 10
	c.VM.Calls = []string{"print", "mul", "div", "mod", "min", "max"}
	c.VM.MaxInstructions, c.VM.MaxCells = 1_000_000_000, 1_000_000
	c.VM.MaxTime, c.VM.MaxOutput = Duration{time.Minute}, 1<<20
	return c
}

// defaultPrices are config.toml's own.
func defaultPrices() []Price {
	return []Price{
		{"claude-*", "15", "75", "1.5", "30"},
		{"gpt-*", "15", "120", "15", "15"},
	}
}

// Parse reads settings; what they leave out has its default. The name is for
// messages.
func Parse(data []byte, name string) (*Config, error) {
	c := Default()
	if err := c.decode(data, name); err != nil {
		return nil, err
	}
	if len(c.Prices) == 0 {
		c.Prices = defaultPrices()
	}
	return c, c.validate(name)
}

// Load reads the settings of the bare repository at dir. A repository without
// the file is not one of Ward's, and an error.
func Load(dir string) (*Config, error) {
	path := filepath.Join(dir, Path)
	data, err := ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: run `git ward init --bare %s` to mend it", path, dir)
	}
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// ReadFile reads a settings file of bounded size.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSize {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxSize)
	}
	return os.ReadFile(path)
}

func (c *Config) decode(data []byte, name string) error {
	meta, err := toml.Decode(string(data), c)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s:%d:%d: %s", name, syntax.Position.Line, syntax.Position.Col, syntax.Message)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("%s: unknown key %q: `git ward config` lists every setting", name, unknown[0].String())
	}
	return nil
}

// validate refuses numbers that would switch a limit off or lock everybody out.
func (c *Config) validate(name string) error {
	if err := c.Identity.validate(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l := c.Limits
	for key, v := range map[string]int64{
		"rights.agent_branches": int64(c.Rights.AgentBranches),
		"limits.input_size":     l.InputSize, "limits.blob_size": l.BlobSize, "limits.push_size": l.PushSize,
		"limits.commits": int64(l.Commits), "limits.changed_paths": int64(l.ChangedPaths),
		"limits.depth": int64(l.Depth), "limits.path_length": int64(l.PathLength),
		"limits.message_size": l.MessageSize, "limits.secret_scan": l.SecretScan,
		"limits.memory": l.Memory, "limits.alloc": l.Alloc,
		"limits.cpu": int64(l.CPU.Duration), "limits.deadline": int64(l.Deadline.Duration),
		"hooks.udc_time": int64(c.Hooks.UDCTime.Duration),
		"door.burst":     int64(c.Door.Burst), "door.per_minute": int64(c.Door.PerMinute), "door.time": int64(c.Door.Time.Duration),
		"sandbox.processes": c.Sandbox.Processes, "sandbox.memory": c.Sandbox.Memory, "sandbox.files": c.Sandbox.Files,
		"sandbox.tmp_size": c.Sandbox.TmpSize, "sandbox.state_size": c.Sandbox.StateSize,
		"budget.tokens": c.Budget.Tokens, "budget.time": int64(c.Budget.Time.Duration), "budget.grace": int64(c.Budget.Grace.Duration),
		"agent.verdict_patience": int64(c.Agent.VerdictPatience.Duration), "loop.max_iterations": int64(c.Loop.MaxIterations), "loop.max_tool_calls_per_iteration": int64(c.Loop.MaxToolCallsPerIteration),
		"loop.max_seconds_per_iteration": int64(c.Loop.MaxSecondsPerIteration), "loop.max_total_seconds": int64(c.Loop.MaxTotalSeconds),
		"loop.max_total_tool_calls": int64(c.Loop.MaxTotalToolCalls),
		"verify.timeout":            int64(c.Verify.Timeout.Duration), "verify.output_size": c.Verify.OutputSize,
		"verify.checkout_entries": int64(c.Verify.CheckoutEntries), "verify.checkout_depth": int64(c.Verify.CheckoutDepth), "verify.checkout_size": c.Verify.CheckoutSize,
		"model.timeout": int64(c.Model.Timeout.Duration),
		"model.context": c.Model.Context, "model.max_output": c.Model.MaxOutput, "model.tries": int64(c.Model.Tries),
		"model.patience": int64(c.Model.Patience.Duration), "model.silence": int64(c.Model.Silence.Duration),
		"agent.poll": int64(c.Agent.Poll.Duration), "agent.bash_timeout": int64(c.Agent.BashTimeout.Duration),
		"agent.output_size": int64(c.Agent.OutputSize), "agent.max_turns": int64(c.Agent.MaxTurns),
		"agent.refusals":          int64(c.Agent.Refusals),
		"bootstrap.build_timeout": int64(c.Bootstrap.BuildTimeout.Duration), "bootstrap.validate_timeout": int64(c.Bootstrap.ValidateTimeout.Duration),
		"bootstrap.start_timeout": int64(c.Bootstrap.StartTimeout.Duration), "bootstrap.check": int64(c.Bootstrap.Check.Duration),
		"guard.cpu_window": int64(c.Guard.CPUWindow.Duration), "guard.memory": c.Guard.Memory, "guard.logs": c.Guard.Logs,
		"guard.restarts":      int64(c.Guard.Restarts),
		"vm.max_instructions": c.VM.MaxInstructions, "vm.max_cells": c.VM.MaxCells,
		"vm.max_time": int64(c.VM.MaxTime.Duration), "vm.max_output": c.VM.MaxOutput,
	} {
		if v < 1 {
			return fmt.Errorf("%s: %s must be at least 1", name, key)
		}
	}
	for key, v := range map[string]float64{"sandbox.cpus": c.Sandbox.CPUs, "guard.cpu": c.Guard.CPU} {
		if v <= 0 {
			return fmt.Errorf("%s: %s must be more than 0", name, key)
		}
	}
	for key, command := range map[string][]string{"bootstrap.build": c.Bootstrap.Build, "bootstrap.validate": c.Bootstrap.Validate, "bootstrap.run": c.Bootstrap.Run} {
		if len(command) > 0 && command[0] == "" {
			return fmt.Errorf("%s: %s begins with an empty word; leave the list empty for none", name, key)
		}
	}
	for key, list := range map[string][]string{"rights.protected": c.Rights.Protected, "rights.protected_on_main": c.Rights.ProtectedOnMain} {
		for _, pattern := range list {
			if err := filename.CheckPattern(pattern); err != nil {
				return fmt.Errorf("%s: %s: %q %w", name, key, pattern, err)
			}
		}
	}
	for _, prefix := range c.Audit.Foreign {
		if why := badForeign(prefix); why != "" {
			return fmt.Errorf("%s: audit.foreign names %q, %s", name, prefix, why)
		}
	}
	for _, tool := range c.VM.Calls {
		if !slices.Contains(Default().VM.Calls, tool) {
			return fmt.Errorf("%s: vm.calls names %q, not one of %s", name, tool, strings.Join(Default().VM.Calls, ", "))
		}
	}
	for _, choice := range []struct {
		key, value string
		of         []string
	}{
		{"hooks.max_udc_risk", c.Hooks.MaxUDCRisk, []string{"LOW", "MEDIUM", "UNKNOWN", "HIGH"}},
		{"egress.mode", c.Egress.Mode, []string{"public", "allowlist"}},
		{"loop.profile", c.Loop.Profile, []string{"strict", "fast", "benchmark_adapt"}},
		{"verify.network", c.Verify.Network, []string{"none", "public"}},
		{"model.prompt", c.Model.Prompt, []string{"stdin", "file"}},
		{"model.api", c.Model.API, []string{"responses", "chat"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return fmt.Errorf("%s: %s is %q, not one of %s", name, choice.key, choice.value, strings.Join(choice.of, ", "))
		}
	}
	return nil
}

// badForeign says why refs below a prefix are not a forge's own to move; "" when
// they can be.
func badForeign(prefix string) string {
	if !strings.HasPrefix(prefix, "refs/") || !strings.HasSuffix(prefix, "/") || strings.Contains(prefix, "//") || prefix == "refs/" {
		return "which is not a folder of refs like refs/pull/"
	}
	for _, kept := range []string{"refs/heads/", "refs/notes/", "refs/ward/", "refs/replace/"} {
		if strings.HasPrefix(prefix, kept) {
			return "below " + kept + ", where the audit records every move"
		}
	}
	return ""
}

// Foreign reports whether a ref is one that a forge moves by itself ([audit]
// foreign): the audit does not know its moves.
func (c *Config) Foreign(ref string) bool {
	return slices.ContainsFunc(c.Audit.Foreign, func(prefix string) bool { return strings.HasPrefix(ref, prefix) })
}
