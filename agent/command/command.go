// Package command is the agent's verbs for the shell, a file a noun: knowledge,
// lesson, orient, plan run, research and task. What they do, an agent does to its
// own clone, and a person to the working tree that he stands in.
package command
