package deciding

import (
	"path"
	"strings"
)

// Where tools look by themselves, without anybody naming the file: tests that a
// runner collects, files that say how to build, test, lint or start, programs and
// libraries that are loaded before the project's own. A file of such a kind decides
// what a command comes to, whoever wrote it. Names compare in lower case: a tool on
// a file system that folds names reads them, and some fold by themselves.

// dirKinds are directories in which every file is of such a kind.
var dirKinds = set(`test tests testing spec specs e2e testdata __tests__ __mocks__ __snapshots__ __fixtures__ step_definitions
	fixtures fixture golden goldens snapshots testutil testutils testhelper testhelpers testkit testlib testsupport test_utils test_helpers test_support test-utils test-helpers test-support
	node_modules bower_components jspm_packages vendor site-packages dist-packages __pycache__ __pypackages__
	rakelib buildsrc magefiles gradle cmake m4 meta-inf rcs sccs githooks`)

// nameKinds are files of such a kind by their whole name.
var nameKinds = set(`
	makefile gnumakefile bsdmakefile makefile.am makefile.in makefile.pl build.pl configure configure.ac configure.in autogen.sh bootstrap.sh config.status libtool
	cmakelists.txt cmakepresets.json cmakeuserpresets.json dartconfiguration.tcl meson.build meson_options.txt meson.options
	build workspace build.bazel workspace.bazel module.bazel buck sconstruct sconscript wscript jamfile jamroot tupfile xmake.lua premake5.lua premake4.lua
	build.zig build.zig.zon conanfile.txt conanfile.py vcpkg.json compile_commands.json
	justfile taskfile.yml taskfile.yaml taskfile.dist.yml taskfile.dist.yaml earthfile dockerfile containerfile vagrantfile procfile snakefile jenkinsfile
	docker-compose.yml docker-compose.yaml compose.yml compose.yaml tiltfile brewfile flake.nix shell.nix default.nix devbox.json devenv.nix mise.toml
	go.mod go.work go.env magefile.go default.pgo
	conftest.py pytest.ini pytest.toml tox.ini tox.toml setup.cfg setup.py pyproject.toml noxfile.py sitecustomize.py usercustomize.py pyvenv.cfg
	tasks.py fabfile.py dodo.py pavement.py manage.py runtests.py pipfile poetry.toml uv.toml hatch.toml pdm.toml pixi.toml ruff.toml mypy.ini pyrightconfig.json
	entry_points.txt tests.py test.py load_tests.py
	package.json npm-shrinkwrap.json pnpm-workspace.yaml lerna.json nx.json turbo.json rush.json deno.json deno.jsonc bunfig.toml import_map.json
	gulpfile.js gruntfile.js jakefile jakefile.js cypress.json jasmine.json nightwatch.json wdio.conf.js karma.conf.js protractor.conf.js test.js test.mjs test.cjs test.ts
	tslint.json biome.json biome.jsonc dprint.json knexfile.js
	cargo.toml build.rs rust-toolchain rust-toolchain.toml clippy.toml rustfmt.toml deny.toml nextest.toml
	rakefile gemfile gems.rb guardfile capfile config.ru spec_helper.rb rails_helper.rb test_helper.rb thorfile
	phpunit.xml phpunit.xml.dist phpunit.dist.xml composer.json phpstan.neon phpstan.neon.dist psalm.xml phpcs.xml phpcs.xml.dist behat.yml codeception.yml box.json robofile.php artisan
	pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradlew gradlew.bat mvnw mvnw.cmd maven.config jvm.config build.xml ivy.xml
	testng.xml junit-platform.properties logback-test.xml lombok.config build.sbt build.sc project.clj deps.edn bb.edn shadow-cljs.edn
	nuget.config global.json directory.build.props directory.build.targets directory.packages.props xunit.runner.json paket.dependencies build.cake
	mix.exs test_helper.exs rebar.config rebar.config.script erlang.mk stack.yaml cabal.project setup.hs setup.lhs package.yaml hie.yaml
	dune dune-project dune-workspace opam cpanfile dist.ini minil.toml prove.rc project.toml manifest.toml runtests.jl
	pubspec.yaml dart_test.yaml build.yaml analysis_options.yaml package.swift podfile fastfile shard.yml project.yml
`)

// extKinds are files of such a kind by the end of their name: what is compiled and
// loaded without being read, and what only builds and tests.
var extKinds = set(`.mk .mak .make .cmake .bzl .ninja .am .m4 .bazelrc
	.so .a .o .lo .la .obj .lib .dll .dylib .exe .class .jar .war .pyc .pyo .pyd .pth .egg .whl .egg-link .rlib .rmeta .gem .node .wasm .beam .hi .cmo .cmx .cma .cmxa
	.csproj .fsproj .vbproj .vcxproj .sln .slnx .props .targets .runsettings .ruleset .nimble .cabal .gemspec .rockspec .opam .gradle .rake .bats .feature .snap .tap .just .syso .golden .approved .expected`)

// globKinds are files of such a kind by a pattern of their name.
var globKinds = []string{
	"*_test.*", "*_tests.*", "*-test.*", "*-tests.*", "*.test.*", "*.tests.*", "*_spec.*", "*-spec.*", "*.spec.*", "*.cy.*", "*.e2e.*", "*.bench.*",
	"test_*.*", "tests_*.*", "test-*.*", "*.t",
	"*makefile*", "dockerfile.*", "*.dockerfile", "docker-compose*.y*ml", "compose.*.y*ml", "*.config.js", "*.config.cjs", "*.config.mjs", "*.config.ts", "*.config.mts", "*.config.cts",
	"*.config.json", "*.workspace.*", "*.conf.js", "*.conf.ts", "*.conf.cjs", "*.conf.mjs", "gulpfile.*", "gruntfile.*", "tsconfig*.json", "jsconfig*.json",
	"expected.*", "expected_*.*", "expected-*.*", "golden.*", "*.golden.*", "*.expected.*", "*.approved.*",
	"requirements*.txt", "constraints*.txt", "requirements*.in",
	"*.so.*", "*.mk.*", "*.egg-info", "*.dist-info", "phpunit*.xml*", "rebar.*", "build.gradle*", "taskfile*.y*ml", "vitest.*", "jest.*", "playwright.*", "cypress.*", "karma.*", "webpack.*", "rollup.*", "babel.*", "metro.*",
}

// camelKinds are patterns of names that only their capitals tell from other words.
var camelKinds = []string{
	"*Test.*", "*Tests.*", "*TestCase.*", "*Spec.*", "*IT.java", "*IT.kt", "Test*.java", "Test*.kt", "Test*.cs", "Test*.php", "Test*.hs", "*Suite.scala",
}

// unreadDotFiles are files with a dot that no tool reads.
var unreadDotFiles = set(".gitkeep .keep .mailmap .git-blame-ignore-revs")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// isKind reports whether a path is one where some tool looks by itself.
func isKind(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		// A directory, or a link in its place.
		case dirKinds[part] && (!last || path.Ext(part) == ""):
			return true
		// Shells, package managers, linters, test runners keep their settings so.
		case part[0] == '.' && !(last && unreadDotFiles[part]):
			return true
		case strings.HasSuffix(part, ".egg-info"), strings.HasSuffix(part, ".dist-info"), strings.HasSuffix(part, ".egg"):
			return true
		}
	}
	base := parts[len(parts)-1]
	if nameKinds[base] || extKinds[path.Ext(base)] {
		return true
	}
	return matchesName(globKinds, base) || matchesName(camelKinds, path.Base(name))
}

func matchesName(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}
