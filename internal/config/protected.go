package config

// protected are [rights] protected by default; config.toml says the same, with the
// same reasons.
func protected() []string {
	return []string{
		// What forges run when something is pushed, and who they ask for a review.
		".ci/", ".github/", ".gitlab-ci.yml", ".gitlab/", ".forgejo/", ".gitea/", ".circleci/", ".woodpecker/",
		".woodpecker.yml", ".woodpecker.yaml", ".travis.yml", ".drone.yml", ".drone.jsonnet", ".drone.star",
		".buildkite/", ".semaphore/", ".teamcity/", ".tekton/", ".zuul.yaml", ".zuul.d/", ".builds/", ".build.yml",
		".cirrus.yml", ".cirrus.star", ".appveyor.yml", "appveyor.yml", "Jenkinsfile", "azure-pipelines.yml",
		"azure-pipelines.yaml", ".azure-pipelines/", ".azuredevops/", "bitbucket-pipelines.yml", "buildspec.yml",
		"cloudbuild.yaml", "cloudbuild.yml", "codemagic.yaml", ".mergify.yml", "CODEOWNERS",
		// What runs at git's own commands: hooks and their managers, filters and drivers,
		// other repositories, and other version control in the same place.
		".husky/", ".githooks/", ".git-hooks/", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml",
		"lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "lefthook-local.yml", "lefthook-local.yaml",
		".lefthook-local.yml", ".lefthook/", ".overcommit.yml", ".lintstagedrc*", "lint-staged.config.*",
		"captainhook.json", "grumphp.yml", ".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig",
		".gitreview", ".hg/", ".jj/", ".svn/",
		// What editors run or load when a folder or a file is opened.
		".vscode/", ".vs/", ".idea/", ".zed/", ".fleet/", ".nova/", ".helix/", ".theia/", ".nvim.lua", ".nvimrc",
		".vimrc", ".lvimrc", ".exrc", ".dir-locals.el", ".dir-locals-2.el", ".emacs", ".settings/", ".project",
		".classpath", "nbproject/", "*.code-workspace", "*.sublime-project", ".ycm_extra_conf.py",
		// What coding agents run: their hooks, tool servers and permissions. Files of
		// instructions (CLAUDE.md, AGENTS.md, GEMINI.md, .cursorrules) are text, and not here.
		".claude/", ".mcp.json", ".codex/", ".gemini/", ".cursor/", ".windsurf/", ".opencode/", "opencode.json",
		"opencode.jsonc", ".continue/", ".roo/", ".kilocode/", ".kiro/", ".amazonq/", ".junie/", ".augment/",
		".qwen/", ".trae/", ".factory/", ".crush.json", "crush.json", ".aider.conf.yml",
		// What sets up a container or a workspace to work in.
		".devcontainer/", ".devcontainer.json", ".gitpod.yml", ".gitpod.Dockerfile", ".gitpod/", ".ona/",
		".devfile.yaml", "devfile.yaml", "devbox.json", ".daytona/", ".idx/", ".codesandbox/", ".replit",
		"replit.nix",
		// What a shell or a tool manager runs on entering the directory.
		".envrc", ".autoenv", ".autoenv.zsh", "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", "mise/config.toml",
		".mise/", ".config/mise/", ".config/mise.toml", ".rtx.toml", ".tool-versions",
		// What package managers, build tools, interpreters and debuggers obey at every
		// command: other registries, wrappers, code that is loaded first.
		".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases/", ".yarn/plugins/", ".pnpmfile.cjs", ".pnpmfile.mjs",
		"bunfig.toml", ".bunfig.toml", ".cargo/", ".bazelrc", ".bazeliskrc", "tools/bazel", ".buckconfig", ".mvn/",
		"gradle/wrapper/", ".bundle/", "nuget.config", ".pypirc", "ansible.cfg", ".gdbinit", ".lldbinit", ".ghci",
		".irbrc", ".pryrc", ".pdbrc", ".iex.exs", ".erlang", ".ocamlinit", ".Rprofile", ".Renviron",
	}
}
