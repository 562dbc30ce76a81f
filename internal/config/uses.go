package config

import "git-ward/internal/git"

// GitLimits bound a git child on the host, which may read objects that an agent made (GIT-6).
// Without settings, the limits of Default hold.
func (c *Config) GitLimits() git.Limits {
	l := c.Limits
	return git.Limits{Memory: l.Memory, Alloc: l.Alloc, CPU: l.CPU.Duration}
}

// ReceiveLimits bound a receive-pack and, by inheritance, its hooks. A file may be
// twice the pack's size on the wire: a thin pack is completed by its bases, and
// loose objects are packed less tightly than they came.
func (c *Config) ReceiveLimits() git.Limits {
	l := c.GitLimits()
	l.File = 2 * c.Limits.InputSize
	return l
}

// Commands are the commands that build, try and run a tree, as boot.Commands.
func (c *Config) Commands() struct{ Build, Validate, Run []string } {
	b := c.Bootstrap
	return struct{ Build, Validate, Run []string }{b.Build, b.Validate, b.Run}
}
