// Package setup is what `git ward init --forge` and doctor ask of a forge before anything works
// there: where the project is, what kind of a forge has it, where the token is kept, and which
// right the token lacks (FORGE-1, FORGE-5).
package setup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"git-ward/internal/diag"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/gateway"
)

// At is where the page of a project leads: the forge of that kind, and the project on it.
func At(page, kind string) (c client.Config, err error) {
	u, err := url.Parse(strings.TrimSuffix(strings.TrimSuffix(page, "/"), ".git"))
	switch {
	case err != nil: // whose words have the whole URL, a password too
		return c, errors.New("it is no URL, as https://forge.example.org/owner/project is")
	case u.User != nil:
		return c, diag.Hint(errors.New("it has a name or a password in it, which whoever sees it could use"), "leave these out, and revoke what was in it: the token is asked for, and kept in a file")
	}
	path := strings.Trim(u.Path, "/")
	cut := strings.LastIndexByte(path, '/')
	if cut < 0 {
		return c, fmt.Errorf("%q names no project, as https://forge.example.org/owner/project does", page)
	}
	c = client.Config{Kind: kind, Owner: path[:cut], Name: path[cut+1:]}
	u.Path, u.RawPath = "", ""
	if deep := strings.LastIndexByte(c.Owner, '/'); kind != "gitlab" && deep >= 0 { // a forge below a path
		u.Path, c.Owner = "/"+c.Owner[:deep], c.Owner[deep+1:]
	}
	c.URL = u.String()
	return c, nil
}

// Same reports whether two pages lead to one project.
func Same(a, b, kind string) bool {
	at, err := At(a, kind)
	to, wrong := At(b, kind)
	return err == nil && wrong == nil && at.URL == to.URL && at.Owner == to.Owner && at.Name == to.Name
}

// Found is a forge that answered.
type Found struct {
	Forge client.Forge
	Kind  string
	Login string // whose token it is
}

// Find asks which of the kinds of forges answers where a page leads, and whose token it is.
func Find(ctx context.Context, page string, kinds []string, key gateway.Key) (Found, error) {
	var none []string
	for _, kind := range kinds {
		at, err := At(page, kind)
		if err != nil {
			return Found{}, err
		}
		at.Token = key
		f, err := client.New(at)
		if err != nil {
			return Found{}, err
		}
		self, err := f.Self(ctx)
		switch {
		case err == nil:
			return Found{f, kind, self.Login}, nil
		case !otherwise(err):
			return Found{}, err
		}
		none = append(none, fmt.Sprintf("%s: %v", kind, err))
	}
	return Found{}, diag.Hint(fmt.Errorf("nothing there answers as a forge does; %s", strings.Join(none, "; ")),
		"take the URL that a browser shows on the project's page; a proxy that asks people to log in lets no program through")
}

// otherwise reports whether an answer is not of this kind of a forge.
func otherwise(err error) bool {
	_, page := errors.AsType[*client.ErrAnswer](err)
	_, moved := errors.AsType[*client.ErrMoved](err)
	_, refused := errors.AsType[*client.ErrConflict](err)
	return page || moved || refused || errors.Is(err, client.ErrNotFound)
}

// Remedy is what to do about an error of a forge's; file is where the token is, login whose it is.
func Remedy(err error, file, login string) string {
	denied, isDenied := errors.AsType[*client.ErrDenied](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, later := errors.AsType[*client.ErrLater](err)
	_, moved := errors.AsType[*client.ErrMoved](err)
	user := "the token's user"
	if login != "" {
		user = login
	}
	switch {
	case len(diag.Hints(err)) > 0:
		return strings.Join(diag.Hints(err), "; ")
	case isDenied && denied.Right == client.NotTaken:
		return "make a token on the forge, and put it into " + file
	case isDenied:
		return "give " + user + ", or the token, that right on the forge; docs/forge.md has the table"
	case certificate:
		return "renew the certificate on the forge's host, or have this host trust who signed it (/etc/ssl/certs, or SSL_CERT_FILE)"
	case later:
		return "see whether this host may reach it (curl -I), and do this again"
	case moved:
		return "name the project as it is called now"
	case errors.Is(err, client.ErrNotFound):
		return "see whether the URL is the project's, and give " + user + " access to it there"
	}
	return "see what answers at that URL"
}
