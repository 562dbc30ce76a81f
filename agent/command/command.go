// Package command is the agent's verbs for the shell, a file a noun: knowledge, lesson,
// orient, plan run, research and task. For an agent they act on its own clone, for a person on
// the current working tree.
package command
