package filename

import "sync"

// Instructions are the files that coding agents of all makes take for their orders
// (GATE-5); the list is made when it is first asked for, since every push starts a hook.
var Instructions = sync.OnceValue(func() *List {
	return NewList("AGENTS.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "SKILL.md", "copilot-instructions.md",
		".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/", ".roorules", ".rules", ".goosehints", "CONVENTIONS.md", "llms.txt")
})
