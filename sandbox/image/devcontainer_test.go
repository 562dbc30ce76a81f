package image_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ward/sandbox/image"
)

// TestDevcontainer: an image with features that Debian has is a recipe; what wants the host, or
// what nobody here knows, is refused at its place with a remedy.
func TestDevcontainer(t *testing.T) {
	r, left, found := image.Devcontainer("d.json", []byte(`{
	// comments, and a comma at the end
	"name": "x, /* y */", /* z */
	"image": "mcr.example/devcontainers/base:bookworm",
	"features": {
		"ghcr.example/devcontainers/features/node:1": {"version": "lts"},
		"ghcr.example/devcontainers/features/python:1": {},
	},
	"privileged": false,
	"postCreateCommand": "npm install",
}`))
	if len(found) > 0 || r.From != "mcr.example/devcontainers/base:bookworm" || !slices.Equal(r.Packages, []string{"nodejs", "npm", "python3", "python3-pip", "python3-venv"}) || !slices.Equal(left, []string{"postCreateCommand"}) {
		t.Errorf("%+v, %q, %v", r, left, found)
	}
	if err := r.Complete(); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"{\"image\": \"a\",\n \"mounts\": [\"source=/,target=/host,type=bind\"]}":   "d.json:2:2 mounts mounts the host's files",
		"{\"image\": \"a\",\n\"workspaceMount\": \"source=/\"}":                     "d.json:2:1 workspaceMount mounts the host's files",
		"{\"image\": \"a\",\n\n\"runArgs\": [\"-v\", \"/:/host\"]}":                 "d.json:3:1 runArgs changes how the container is started",
		"{\"image\": \"a\", \"privileged\": true}":                                  "d.json:1:16 privileged takes the fence away",
		"{\"image\": \"a\", \"initializeCommand\": \"sh\"}":                         "d.json:1:16 initializeCommand runs on the host",
		"{\"dockerComposeFile\": \"c.yml\"}":                                        "d.json:1:2 dockerComposeFile starts other containers",
		"{\"build\": {\"dockerfile\": \"Dockerfile\"}}":                             "d.json:1:2 build is built from the project's files",
		"{\"image\": \"a\", \"features\": {\n\"x/docker-in-docker:2\": {}}}":        "d.json:2:2 the feature x/docker-in-docker:2 is not known here",
		"{\"image\": \"a\", \"features\": {\n\"x/node:1\": {\"version\": \"20\"}}}": "d.json:2:2 the feature x/node:1 asks for version 20",
		"{\"image\": \"a\", \"features\": {\n\"x/node:1\": \"18\"}}":                "d.json:2:2 the feature x/node:1 asks for version 18",
		"{\"image\": \"a\", \"features\": {\n\"x/node:1\": {\"version\": 19}}}":     "d.json:2:2 the feature x/node:1 asks for version 19",
		"{\"image\": \"a\", \"containerEnv\": {}}":                                  "d.json:1:16 containerEnv is not known here",
		"{\"image\": 7}":    "d.json:1:2 json: ",
		"{}":                "d.json:1:1 no image is named",
		"[]":                "d.json:1:1 not a JSON object",
		"{\"image\": \"a\"": "d.json:1:",
		"":                  "d.json:1:1 not a JSON object",
	} {
		_, _, found := image.Devcontainer("d.json", []byte(text))
		if len(found) != 1 || found[0].Hint == "" || !strings.HasPrefix(fmt.Sprintf("%s %s", found[0].Pos, found[0].Message), want) {
			t.Errorf("%s: %v", text, found)
		}
	}
}

// FuzzDevcontainer: no text makes it panic.
func FuzzDevcontainer(f *testing.F) {
	f.Add([]byte("{\"image\": \"a\", // x\n\"features\": {\"node\": {},},}"))
	f.Fuzz(func(t *testing.T, data []byte) { image.Devcontainer("d.json", data) })
}
