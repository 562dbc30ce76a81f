package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// features are the Debian packages that stand for features of devcontainers, by the last part
// of their names.
var features = map[string][]string{
	"common-utils": {"curl", "less", "procps"},
	"git":          nil, // every image has it
	"github-cli":   {"gh"},
	"go":           {"golang"},
	"java":         {"default-jdk-headless"},
	"node":         {"nodejs", "npm"},
	"php":          {"php-cli"},
	"python":       {"python3", "python3-pip", "python3-venv"},
	"ruby":         {"ruby"},
	"rust":         {"cargo", "rustc"},
}

// forEditors are the members that concern an editor and its user only.
var forEditors = []string{"$schema", "name", "customizations", "forwardPorts", "portsAttributes", "otherPortsAttributes", "remoteUser", "containerUser",
	"updateRemoteUserUID", "userEnvProbe", "waitFor", "shutdownAction", "hostRequirements", "overrideCommand", "workspaceFolder", "init"}

// commands want the project's files, which no image has.
var commands = []string{"onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"}

// hosts reach the host, or take the fence away.
var hosts = map[string]string{
	"mounts":            "mounts the host's files: take it out, or copy what is wanted into the image",
	"workspaceMount":    "mounts the host's files: take it out; the fence has a clone of its own",
	"runArgs":           "changes how the container is started: take it out; [sandbox] in ward/config.toml has the limits",
	"privileged":        "takes the fence away: take it out",
	"capAdd":            "takes the fence away: take it out",
	"securityOpt":       "takes the fence away: take it out",
	"initializeCommand": "runs on the host: take it out, and run it by hand before",
	"appPort":           "opens a port of the host: take it out",
	"dockerComposeFile": "starts other containers: name one image in \"image\"",
}

// Devcontainer is what a devcontainer.json comes to: a recipe, and the members that are left
// out. What it wants of the host, and what nobody here knows, is a finding at its place.
func Devcontainer(file string, data []byte) (r Recipe, left []string, found []diag.Diagnostic) {
	text := plainJSON(data)
	report := func(offset int64, message, hint string) {
		line, col := jsondoc.Place(data, offset, 1)
		found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: file, Line: line, Col: col}, Rule: "image/devcontainer", Severity: diag.Error, Message: message, Hint: hint})
	}
	at, err := members(text, func(name string, offset int64, value jsontext.Value) error {
		switch why := hosts[name]; {
		case why != "" && string(value) != "false" && string(value) != "[]":
			what, hint, _ := strings.Cut(why, ": ")
			report(offset, diag.Clean(name)+" "+what, hint)
		case why != "" || slices.Contains(forEditors, name):
		case slices.Contains(commands, name):
			left = append(left, name)
		case name == "image":
			return json.Unmarshal(value, &r.From)
		case name == "build" || name == "dockerFile":
			report(offset, diag.Clean(name)+" is built from the project's files", "podman build -t localhost/NAME by hand, and --from localhost/NAME")
		case name == "features":
			_, err := members(value, func(feature string, at int64, options jsontext.Value) error {
				packages, why, hint := known(feature, options)
				if why != "" {
					report(offset+int64(bytes.Index(text[offset:], []byte(feature))), why, hint)
				}
				r.Packages = append(r.Packages, packages...)
				return nil
			})
			return err
		default:
			report(offset, fmt.Sprintf("%s is not known here", diag.Clean(name)), "take it out, or make an image that has what it brings, and --from that image")
		}
		return nil
	})
	switch {
	case err != nil:
		report(at, diag.Clean(err.Error()), "mend it as the devcontainers' specification has it")
	case r.From == "" && len(found) == 0:
		report(0, "no image is named", "add \"image\": \"NAME\"")
	}
	return r, left, found
}

// known is what a feature comes to, or why it cannot be had.
func known(feature string, options jsontext.Value) (packages []string, why, hint string) {
	name, _, _ := strings.Cut(path.Base(feature), ":")
	packages, ok := features[name]
	if !ok {
		return nil, fmt.Sprintf("the feature %s is not known here", diag.Clean(feature)), "take it out, or make an image that has it, and --from that image"
	}
	var version any // the options, in the short form; of an object its member, and the others do not matter
	json.Unmarshal(options, &version)
	if all, ok := version.(map[string]any); ok {
		version = all["version"]
	}
	if asked := fmt.Sprint(version); version != nil && !slices.Contains([]string{"", "latest", "lts", "os-provided", "none"}, asked) {
		return nil, fmt.Sprintf("the feature %s asks for version %s, and Debian has one of its own", diag.Clean(feature), diag.Clean(asked)), "say \"latest\", or name an image that has it"
	}
	return packages, "", ""
}

// members goes through an object's members, each with where its name begins. The offset is
// where it stopped.
func members(text []byte, each func(name string, offset int64, value jsontext.Value) error) (int64, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return 0, errors.Join(errors.New("not a JSON object"), err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return d.InputOffset(), err
		}
		key := name.String()
		start := int64(bytes.LastIndexByte(text[:d.InputOffset()-1], '"'))
		value, err := d.ReadValue()
		if err == nil {
			err = each(key, start, bytes.Clone(value))
		}
		if err != nil {
			return start, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return d.InputOffset(), err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return d.InputOffset(), errors.New("more than one value")
	}
	return d.InputOffset(), nil
}

// plainJSON is JSON with comments, and commas before a closing bracket, as JSON: each becomes
// blanks, so that every place stays where it is.
func plainJSON(data []byte) []byte {
	text := bytes.Clone(data)
	comma := -1 // the last one, where only blanks have come since
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '/' && bytes.HasPrefix(text[i:], []byte("//")):
			for ; i < len(text) && text[i] != '\n'; i++ {
				text[i] = ' '
			}
		case c == '/' && bytes.HasPrefix(text[i:], []byte("/*")):
			if n := bytes.Index(text[i+2:], []byte("*/")); n >= 0 {
				blank(i, i+n+4)
			}
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1)
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return text
}
