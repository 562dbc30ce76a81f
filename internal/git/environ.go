package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// harmless is what every git child is told, whatever a repository's own settings say
// (GATE-7): a repository that somebody else wrote is data, and these are the
// settings by which data would run. A bare repository that lies in a checkout came
// with it, so one counts only where it is named.
var harmless = [][2]string{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.alternateRefsCommand", ":"},
	{"safe.bareRepository", "explicit"},
	{"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"push.recurseSubmodules", "no"},
	{"status.submoduleSummary", "false"},
	{"log.showSignature", "false"},
	{"maintenance.auto", "false"},
	{"gc.auto", "0"},
}

// noTransport is for children that read and write here: nothing is fetched, not
// even the missing objects of a partial clone. Both are needed: protocol.allow is
// overruled by a repository's protocol.<name>.allow, the variable by nothing.
var noTransport = [2]string{"protocol.allow", "never"}

const noProtocol = "GIT_ALLOW_PROTOCOL=none"

// variables are settings as git-config(1) takes them from the environment, where
// they overrule every file. They come after those that are in env already.
func variables(env []string, settings ...[2]string) []string {
	n := 0
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		count, found := strings.CutPrefix(v, "GIT_CONFIG_COUNT=")
		if found {
			n, _ = strconv.Atoi(count)
		}
		return found
	})
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n+i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n+i, s[1]))
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+len(settings)))
}

// Harden adds to an environment what keeps git in it from running what a
// repository's settings name: hooks, monitors, pagers, editors. Fetching and pushing
// stay possible. It is for git in a place of its own user's, such as the agent's
// git in the agent's clone; nothing is read.
func Harden(env []string) []string {
	return append(variables(env, harmless...), "GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:")
}

// local are the variables that say where a repository is and how it is read, which
// a child finds out anew (git rev-parse --local-env-vars), and one that runs.
var local = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_QUARANTINE_PATH", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX",
	"GIT_REPLACE_REF_BASE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_PAGER_IN_USE"}

// Elsewhere is env without what says where a repository is.
func Elsewhere(env []string) []string { return without(env, local...) }

// without is env with the named variables left out.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}

// Checkout is how git is run for a person in a working tree: with the person's own
// environment and settings, which fetch and push with the person's own keys, and of the
// repository's settings only with those that run nothing.
type Checkout struct {
	Env      []string
	SetAside []string // the settings that do not count; who means one writes it into ~/.gitconfig

	flags map[string]string // an option that overrules a setting, by subcommand
}

// InCheckout reads the settings of the working tree at top, absolute; base is the
// person's environment. Nothing around the tree is taken for it, and its core.worktree
// leads nowhere else. An agent's own git in its own clone keeps the clone's settings.
func InCheckout(ctx context.Context, top string, base []string) (*Checkout, error) {
	c := &Checkout{flags: map[string]string{}}
	c.Env = Harden(append(Elsewhere(base), "GIT_WORK_TREE="+top, "GIT_CEILING_DIRECTORIES="+filepath.Dir(top)))
	if agents(base) {
		return c, nil
	}
	all, err := settingsOf(ctx, top, c.Env)
	if err != nil {
		return nil, err
	}
	var overrule [][2]string
	for _, s := range all {
		if !s.from.repository() || program(s.key) < 0 || s == ours || slices.Contains(c.SetAside, s.key) {
			continue
		}
		c.SetAside = append(c.SetAside, s.key)
		values := instead(s.key, all)
		switch _, _, name := split(s.key); name {
		// Of these the first counts, which the repository's is; the option goes before.
		case "uploadpack":
			c.flags["fetch"] = "--upload-pack=" + values[0][1]
			c.flags["ls-remote"] = c.flags["fetch"]
		case "receivepack":
			c.flags["push"] = "--receive-pack=" + values[0][1]
		default:
			overrule = append(overrule, values...)
		}
	}
	c.Env = variables(c.Env, overrule...)
	return c, nil
}

// args are a command's, which begin with its name, such as fetch, with what keeps it
// from running what the repository names.
func (c *Checkout) args(args []string) []string {
	if flag := c.flags[args[0]]; flag != "" {
		return slices.Insert(slices.Clone(args), 1, flag)
	}
	return args
}

// AgentVariable marks the environment of an agent's children, whose git runs in the
// agent's own clone, with the agent's own settings and rights.
const AgentVariable = "WARD_AGENT_STATE"

func agents(env []string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, AgentVariable+"=") })
}

// Explain adds to a failed fetch or push which settings of the clone did not count.
func (c *Checkout) Explain(err error) error {
	if len(c.SetAside) == 0 {
		return err
	}
	return fmt.Errorf("%w (git ward runs nothing that a clone's own settings name, so these did not count: %s; to mean one, write it into ~/.gitconfig)",
		err, diag.Clean(strings.Join(c.SetAside, ", ")))
}

// ours is the one program that git ward clone sets in a clone.
var ours = setting{"merge.ward-lessons.driver", "git-ward lesson merge %O %A %B", "local"}

// Local is InCheckout's environment for a command that needs no other repository.
func Local(env []string) []string { return append(variables(env, noTransport), noProtocol) }

// setting is a line of `git config --list`; keys are lower-case but for the part in
// the middle.
type setting struct {
	key, value string
	from       scope
}

// scope is where a setting stands, as git config names it. What the command line sets
// is the caller's word, and goes before all others anyhow.
type scope string

func (s scope) repository() bool { return s == "local" || s == "worktree" }
func (s scope) persons() bool    { return s == "system" || s == "global" }

func settingsOf(ctx context.Context, dir string, env []string) ([]setting, error) {
	out, err := child(ctx, dir, Local(env), []string{"config", "--null", "--show-scope", "--list"}).Output()
	if err != nil {
		return nil, childWords(ctx, "config", err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var all []setting
	for i := 0; i+1 < len(words); i += 2 {
		key, value, _ := strings.Cut(words[i+1], "\n")
		all = append(all, setting{key, value, scope(words[i])})
	}
	return all, nil
}

// programs are the settings whose value git runs, by section and name; a section that
// ends in a point has a part in the middle. Editors and pagers are not here: the
// environment names them (Harden).
var programs = []struct {
	section, name string
	instead       string // what does nothing, or what git does without it
}{
	{"core", "sshcommand", "ssh"}, {"core", "askpass", ""}, {"core", "gitproxy", ""},
	{"diff", "external", ":"}, {"diff.", "command", ":"}, {"diff.", "textconv", "cat"},
	// No filter where it is not required; where it is, git says which one failed.
	{"filter.", "clean", ""}, {"filter.", "smudge", ""}, {"filter.", "process", ""},
	{"merge.", "driver", "false"}, {"submodule.", "update", "none"},
	{"gpg", "program", "gpg"}, {"gpg.", "program", "false"}, {"gpg.", "defaultkeycommand", "false"},
	{"credential", "helper", ""}, {"credential.", "helper", ""},
	{"remote.", "uploadpack", "git-upload-pack"}, {"remote.", "receivepack", "git-receive-pack"}, {"remote.", "vcs", ""},
	{"protocol", "allow", "user"}, {"protocol.", "allow", "never"},
	{"hook.", "command", ":"}, {"trailer.", "command", ":"}, {"trailer.", "cmd", ":"}, {"gc", "recentobjectshook", ":"},
}

// split cuts a key into its section, with a point when there is a part in the middle,
// that part, and the name.
func split(key string) (section, middle, name string) {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	if first < 0 {
		return key, "", ""
	}
	if first == last {
		return key[:first], "", key[last+1:]
	}
	return key[:first+1], key[first+1 : last], key[last+1:]
}

// program is the index of a setting in programs, -1 if it runs nothing.
func program(key string) int {
	section, _, name := split(key)
	for i, p := range programs {
		if p.section == section && p.name == name {
			return i
		}
	}
	return -1
}

// allowed is git's own rule for transports (git-config(1), protocol.allow), by name;
// every other is "user".
var allowed = map[string]string{"http": "always", "https": "always", "git": "always", "ssh": "always", "ext": "never"}

// instead is what a repository's setting is overruled by: what the person's own files
// say, or what does nothing. A protocol is put back to git's own rule, and a list that
// an empty value ends (gitcredentials(7)) is built again from the person's.
func instead(key string, all []setting) [][2]string {
	section, middle, name := split(key)
	own := slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return !s.from.persons() })
	switch {
	case name == "gitproxy":
		// The first that fits wins there, so nothing can be put after it.
		return [][2]string{{"protocol.git.allow", "never"}}
	case name == "helper":
		// An empty one ends the whole list, whatever address the others are for.
		again := [][2]string{{key, ""}}
		for _, s := range own {
			if strings.HasPrefix(s.key, "credential.") && strings.HasSuffix(s.key, ".helper") {
				again = append(again, [2]string{s.key, s.value})
			}
		}
		return again
	}
	for _, s := range slices.Backward(own) {
		if s.key == key {
			return [][2]string{{key, s.value}}
		}
	}
	if section == "protocol" {
		return [][2]string{{key, "user"}, {"protocol.ext.allow", "never"}}
	}
	if rule, known := allowed[middle]; section == "protocol." && known {
		return [][2]string{{key, rule}}
	}
	return [][2]string{{key, programs[program(key)].instead}}
}

// quiet adds options to a git command line that keep a repository's own diff and textconv
// programs from running.
func quiet(args []string) []string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-C" || arg == "-c":
			i++
		case strings.HasPrefix(arg, "-"):
		case slices.Contains([]string{"log", "show", "diff", "diff-tree", "diff-index", "diff-files"}, arg):
			return slices.Insert(slices.Clone(args), i+1, "--no-ext-diff", "--no-textconv")
		default:
			return args
		}
	}
	return args
}
