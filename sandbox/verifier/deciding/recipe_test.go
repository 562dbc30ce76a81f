package deciding

import (
	"strings"
	"testing"
)

// TestRecipes: what make runs whatever else happens, as its text tells.
func TestRecipes(t *testing.T) {
	const makefile = `GO ?= go
LINT := golangci-lint run
EXTRA =
ifdef CI
GO = go1.99
slow:
	sleep 1
endif

all: lint

.PHONY: test lint
test: build ## runs all tests
	@$(GO) test ./... $(FLAGS)
	-cleanup --all
	@echo $$HOME $@

build: gen.go vendor
	git -o out $^

gen.go:
	mockgen x

vendor:
	vendorer

lint: ; $(LINT) && \
	$(EXTRA) staticcheck $(shell go list)
%.o: %.c
	as $<
debug: MODE = debug
debug:
	$(MODE)er x
`
	files := Files(func(name string) (string, bool) {
		text, ok := map[string]string{"Makefile": makefile, "sub/Makefile": "x:\n\tsubtool\n", "vendor": "there", "odd/Makefile": ".ONESHELL:\nx:\n\ttool\n", "path/Makefile": "export PATH := bin:$(PATH)\nx:\n\ttool\n"}[name]
		return text, ok
	})
	for line, want := range map[string]string{
		"make test":                       "git -o out \x01|mockgen",
		"make lint":                       "golangci-lint run &&|staticcheck \x01",
		"make":                            "", // which is the first target, only make knows
		"make LINT=other lint":            "other && ",
		"make -C sub x":                   "subtool",
		"make -C sub":                     "subtool",
		"make -j2 gen.go | tee log; true": "mockgen x",
		"make slow":                       "",
		"make debug":                      "\x01er x",
		"make x.o":                        "",
		"make -n test":                    "",
		"make -C odd x":                   "",
		"make -C path x":                  "",
		"make nothing":                    "",
		"cd sub && make x":                "",
		"make lint || make x":             "",
		"go test ./...":                   "",
	} {
		got := strings.Join(Recipes(line, files), "|")
		for _, w := range strings.Split(want, "|") {
			if w == "" && got != "" || !strings.Contains(got, w) {
				t.Errorf("%s: %q, want %q", line, got, want)
			}
		}
		if strings.Contains(got, "cleanup") || strings.Contains(got, "vendorer") {
			t.Errorf("%s: %q", line, got)
		}
	}
	if got := Recipes("make test", files); got[len(got)-2] != "\x01 test ./... \x01" || got[len(got)-1] != "echo $HOME \x01" {
		t.Errorf("%q", got)
	}
}
