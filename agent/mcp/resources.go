package mcp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/glob"
	"git-ward/internal/pattern"
	"git-ward/internal/worktree"
	"git-ward/protocols/loop"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// scheme begins resources' URIs.
const scheme = "ward:///"

// maxResource bounds a resource, in bytes.
const maxResource = 1 << 20

// specName matches specifications' file names in spec/.
var specName = pattern.New(`^SPEC_[A-Za-z0-9._-]+\.md$`)

// addResources offers COMMS.md, the specifications, and the newest capsule.
func (o *Options) addResources(s *sdk.Server) {
	o.addComms(s)
	s.AddResource(&sdk.Resource{URI: scheme + "COMMS.md", Name: "COMMS.md", MIMEType: "text/markdown",
		Description: "The directives, and what was reported on them"}, o.resource("text/markdown", o.commsFile))
	s.AddResource(&sdk.Resource{URI: scheme + "capsule", Name: "capsule", MIMEType: "application/json",
		Description: "The newest capsule: all that an iteration of the loop begins with"}, o.file("application/json", o.capsule))
	// The present ones are listed; the template also reads later ones.
	specs, _ := glob.Below(o.Box.Dir, "spec/SPEC_*.md")
	for _, p := range specs {
		if name := filepath.Base(p); specName.MatchString(name) {
			s.AddResource(&sdk.Resource{URI: scheme + "spec/" + name, Name: name, MIMEType: "text/markdown", Description: "A specification"}, o.spec)
		}
	}
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: scheme + "spec/{name}", Name: "specification", MIMEType: "text/markdown",
		Description: "spec/SPEC_*.md, by its name"}, o.spec)
}

func (o *Options) spec(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	return o.file("text/markdown", func() (string, error) {
		name := path.Base(r.Params.URI)
		if !specName.MatchString(name) {
			return "", fs.ErrNotExist
		}
		return "spec/" + name, nil
	})(ctx, r)
}

// file reads a file of the working tree. Links cannot lead out of it.
func (o *Options) file(kind string, find func() (string, error)) sdk.ResourceHandler {
	return o.resource(kind, func(context.Context) ([]byte, error) {
		name, err := find()
		if err != nil {
			return nil, err
		}
		return o.read(name)
	})
}

// resource answers with load's result.
func (o *Options) resource(kind string, load func(context.Context) ([]byte, error)) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		data, err := load(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: kind, Text: string(data)}}}, nil
	}
}

func (o *Options) read(name string) ([]byte, error) {
	root, err := os.OpenRoot(o.Box.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Without O_NONBLOCK a named pipe would block the server until somebody writes.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxResource+1))
	if len(data) > maxResource {
		err = errors.New(name + " is too large for a resource: read it with read_file")
	}
	return data, err
}

// capsule is the path of the newest capsule, of the directive with the highest number (LOOP-7:
// evidence/D-n/loop/iter_k/cnf_capsule.json). In an agent's clone it is below .ward.
func (o *Options) capsule() (string, error) {
	var found []string
	for _, dir := range []string{worktree.RecordDir, "."} {
		list, err := glob.Below(filepath.Join(o.Box.Dir, dir), "evidence/D-*/loop/iter_*/cnf_capsule.json")
		if err != nil {
			return "", err
		}
		if found = list; len(found) > 0 {
			break
		}
	}
	if len(found) == 0 {
		return "", fs.ErrNotExist
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return slices.Compare(iteration(a), iteration(b)) })
	return filepath.Rel(o.Box.Dir, newest)
}

// iteration gives the numbers of directive and iteration in a capsule's path.
func iteration(p string) []int {
	parts := strings.Split(p, "/")
	n := len(parts)
	d, _ := strconv.Atoi(strings.TrimPrefix(parts[n-4], "D-"))
	k, _ := loop.ParseIteration(parts[n-2])
	return []int{d, k}
}
