// Package command is the agent's verbs for the shell: what they do, an agent does
// to its own clone.
package command
