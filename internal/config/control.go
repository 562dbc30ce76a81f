package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Control names the project's branch and the control branch (CTRL-1).
type Control struct {
	Branch  string `toml:"branch" shown:"inside" json:"branch" init:"yes"`   // COMMS.md, SYSTEM.md, protocols/, knowledge_core/
	Project string `toml:"project" shown:"inside" json:"project" init:"yes"` // the project's code
}

// What the hooks do with findings ([hooks] mode).
const (
	Enforce = "enforce"
	Observe = "observe"
)

// What happens to a new name at the root of the tree ([rights] new_root).
const (
	Review = "review"
	Ask    = "ask"
)

const heads = "refs/heads/"

// Ref is the full ref name of the control branch.
func (c Control) Ref() string { return heads + c.Branch }

// ProjectRef is the full ref name of the project's branch.
func (c Control) ProjectRef() string { return heads + c.Project }

// Refs are the full ref names of the branches: one name if both are one branch.
func (c Control) Refs() []string { return slices.Compact([]string{c.Ref(), c.ProjectRef()}) }

// Names reports whether a ref is one of the branches.
func (c Control) Names(ref string) bool { return slices.Contains(c.Refs(), ref) }

// Split reports whether they are two branches, which then share no history.
func (c Control) Split() bool { return c.Branch != c.Project }

// plainBranch reports whether a branch has a name that is good here: less than
// git-check-ref-format(1) admits, because the names go into messages, refspecs and git's
// configuration. It is asked at every push, so it compiles nothing.
func plainBranch(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	return name != "" && len(name) <= 100 && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"./+-") == ""
}

// branch holds a value to the name of a branch that is no agent's.
func branch(key string, values []string) error {
	name := values[0]
	for _, part := range strings.Split(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") || strings.Contains(part, "..") {
			return fmt.Errorf("%s: %q is not the name of a branch", key, name)
		}
	}
	folder, _, _ := strings.Cut(name, "/")
	if !plainBranch(name) || name == "HEAD" || folder == "refs" {
		return fmt.Errorf("%s: %q is not the name of a branch", key, name)
	}
	if folder == "agent" || folder == "rescue" {
		return fmt.Errorf("%s: %q is below %s/, which is the agent's", key, name, folder)
	}
	return nil
}

// Check validates names that do not come from a settings file.
func (c Control) Check() error {
	return errors.Join(branch("the control branch", []string{c.Branch}), branch("the project's branch", []string{c.Project}))
}
