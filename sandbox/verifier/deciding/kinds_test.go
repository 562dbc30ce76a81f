package deciding

import (
	"strings"
	"testing"
)

// TestKinds: where tools look by themselves, and where they do not.
func TestKinds(t *testing.T) {
	for _, name := range strings.Fields(`zz_test.go pkg/zz_test.go GNUmakefile makefile Makefile sub/GNUmakefile ci.mk Makefile.sh a/go.mod go.work vendor/modules.txt vendor/x/y.go testdata/x
		conftest.py a/conftest.py pytest.ini tox.ini setup.cfg setup.py pyproject.toml sitecustomize.py x.pth test_a.py a/b/c_test.py __pycache__/calc.cpython-311.pyc a.so x.dist-info/entry_points.txt
		package.json .npmrc .mocharc.yml .mocharc.json jest.config.js vitest.config.ts babel.config.json .babelrc node_modules/x/index.js a.test.ts a.spec.js __tests__/a.js __mocks__/fs.js tsconfig.json
		.cargo/config.toml build.rs Cargo.toml rust-toolchain rust-toolchain.toml .ruby-version Rakefile .rspec Gemfile a_spec.rb spec/a.rb phpunit.xml pom.xml build.gradle build.gradle.kts gradlew
		gradle/wrapper/gradle-wrapper.jar src/test/java/ATest.java CTest.java AIT.java CMakeLists.txt x.cmake meson.build BUILD BUILD.bazel justfile Justfile .justfile Taskfile.yml .envrc .bash_env .env
		.gitignore Dockerfile compose.yaml tests/helper.sh t.bats x.csproj Directory.Build.props mix.exs dune`) {
		if !isKind(name) {
			t.Errorf("%s is not of a kind that decides", name)
		}
	}
	for _, name := range strings.Fields(`main.go README.md docs/a.md src/app.py lib/x.js index.html calc.rs pkg/testify.go contest.py latest.go attest.js src.json .gitkeep a/.gitkeep evidence/D-1/loop/iter_0/cnf_capsule.json
		LEARNINGS.md COMMS.md plans/a.fdc knowledge_core/lessons.jsonl postmortems/2026-01-01-D-1.1.md answer program greet.sh VERSION cmd/app/main.go audit.java Audit.java data.csv style.css`) {
		if isKind(name) {
			t.Errorf("%s is of a kind that decides", name)
		}
	}
}
