package deciding

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The variables by which programs are told where to look, and what to load.
var (
	searchVars = set("PATH PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB LUA_PATH CDPATH LD_LIBRARY_PATH CLASSPATH GOPATH GOROOT PYTHONHOME")
	loadVars   = set(`PYTHONSTARTUP NODE_OPTIONS PERL5OPT RUBYOPT BASH_ENV ENV MAKEFILES MAKEFLAGS GOWORK GOFLAGS GOENV JAVA_TOOL_OPTIONS LD_PRELOAD RUSTC_WRAPPER
		RUSTC CC CXX LD AR SHELL MAKE PYTHON PYTEST_PLUGINS PYTEST_ADDOPTS CARGO_HOME GIT_CONFIG_GLOBAL GIT_SSH_COMMAND`)
)

func (s *shell) assign(a *syntax.Assign, h how) {
	if a.Name == nil || a.Value == nil {
		return
	}
	s.substitutions(a.Value, h)
	for _, v := range s.expand(a.Value, 0) {
		s.setting(a.Name.Value, v, h)
	}
}

// setting is NAME=VALUE.
func (s *shell) setting(name, value string, h how) {
	switch {
	case searchVars[name]:
		for _, dir := range strings.Split(value, ":") {
			if strings.ContainsAny(dir, unclear) || path.IsAbs(dir) {
				continue
			}
			for _, at := range s.dirs {
				switch d := path.Join(at, dir); {
				case name == "PATH":
					s.r.pathDirs[d] = true
				case name == "PYTHONPATH":
					s.r.moduleDirs[d] = true
				case d != ".":
					s.r.programDirs[d] = true
				}
			}
		}
	case loadVars[name]:
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" :,=", r) }) {
			s.file(word, "", how{optional: true, level: h.level})
		}
	}
}
