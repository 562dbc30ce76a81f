package filename

import "sync"

// Instructions are the files that coding agents read as instructions (GATE-5). The list is
// built on first use, because every push starts a hook.
var Instructions = sync.OnceValue(func() *List {
	return NewList("AGENTS.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "SKILL.md", "copilot-instructions.md",
		".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/", ".roorules", ".rules", ".goosehints", "CONVENTIONS.md", "llms.txt")
})
