package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"git-ward/hooks/view"
	"git-ward/hooks/view/serve"
	"git-ward/hooks/view/site"
	"git-ward/internal/cli"
)

const serveUsage = "serve [--bare DIR] [--listen HOST:PORT] [--tls-cert FILE --tls-key FILE]"

// serveCommand is `git ward serve`.
var serveCommand = cli.Command{Name: "serve", Doc: "show the repository in a browser, live and read-only",
	Long: `The pages of the repository, as they change: what waits for you with the command that settles it, where each directive stands, ` +
		`units and their journals, what they cost, the work under review, the audit. Nothing can be changed by them.

Whoever opens them signs in with a code that the terminal shows, which is good once, for ten minutes; the next comes when the page asks for one. ` +
		`Other users of the machine can open the address and cannot sign in.

Without --listen it is reached from this machine only. From another, use ssh -L 8417:127.0.0.1:8417 HOST and open the same address there; ` +
		`or give an address of this machine with a certificate for its name.`,
	Examples: []cli.Example{
		{Line: "serve --bare /srv/git/project.git", Doc: "on the host, of a repository that Ward guards"},
		{Line: "serve --listen 127.0.0.1:0", Doc: "of the current clone, at a free port"},
	},
	Run: runServe}

func runServe(ctx context.Context, env *cli.Env) error {
	var cfg serve.Config
	var bare string
	args, err := env.Flags("serve", serveUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.StringVar(&cfg.Listen, "listen", "127.0.0.1:8417", "`HOST:PORT` to be reached at; port 0 is a free one")
		fs.StringVar(&cfg.Cert, "tls-cert", "", "the certificate's `FILE` in PEM, to be reached beyond this machine")
		fs.StringVar(&cfg.Key, "tls-key", "", "its key's `FILE` in PEM")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(serveUsage, "serve takes no argument: %q", args[0])
	}
	cfg.Open = func(ctx context.Context) (serve.Site, error) { return openShown(ctx, env, bare) }
	for _, file := range []*string{&cfg.Cert, &cfg.Key} {
		if *file != "" {
			*file = env.Path(*file)
		}
	}
	return serveTo(ctx, env, cfg)
}

func serveTo(ctx context.Context, env *cli.Env, cfg serve.Config) error {
	cfg.Style = site.Stylesheet
	cfg.Say = func(line string) { fmt.Fprintln(env.Stdout, line) }
	s, err := serve.Listen(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "the pages of %s are at %s (read-only; ^C ends it)\n", s.Name(), s.URL())
	if err := s.Serve(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, "stopped: the pages are gone, nothing was changed")
	return err
}

// shown are the pages of one repository.
type shown struct {
	*site.Server
	source *view.Source
	info   os.FileInfo
}

func openShown(ctx context.Context, env *cli.Env, bare string) (serve.Site, error) {
	source, err := open(ctx, env, bare)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(source.Dir())
	if err != nil {
		return nil, err
	}
	return &shown{site.Live(source), source, info}, nil
}

// Version returns an error if another directory has replaced the repository, so that the cached data of the
// first is dropped.
func (s *shown) Version(ctx context.Context) (string, error) {
	info, err := os.Stat(s.source.Dir())
	if err != nil {
		return "", err
	}
	if !os.SameFile(info, s.info) {
		return "", errors.New("another directory is in its place")
	}
	return s.Server.Version(ctx)
}

// Page returns fs.ErrNotExist for an unknown path or directive.
func (s *shown) Page(ctx context.Context, path string, query url.Values) ([]byte, error) {
	page, err := s.Server.Page(ctx, path, query)
	if errors.Is(err, view.ErrUnknown) {
		err = fs.ErrNotExist
	}
	return page, err
}

// Name is the repository's, without the directories above it.
func (s *shown) Name() string { return s.source.Name() }
