package gateway

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// names is the list of allowed host names.
type names struct {
	exact    map[string]bool
	suffixes []string // ".suffix"
}

// hostName matches a lower-case DNS name. It matches no IP address: the last label may not
// begin with a digit.
var hostName = pattern.New(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// CheckNames says which entry of [egress] allow a fence would not start with.
func CheckNames(list []string) error {
	_, err := newNames(list)
	return err
}

// newNames reads [egress] allow. A name is exact; *.suffix is every name below suffix, but not
// suffix itself. It refuses public suffixes, below which anybody can have a name.
func newNames(list []string) (names, error) {
	n := names{exact: map[string]bool{}}
	for _, entry := range list {
		name, below := strings.CutPrefix(strings.ToLower(entry), "*.")
		if !hostName.MatchString(name) || len(name) > 253 {
			return n, diag.Hint(fmt.Errorf("[egress] allow: %q is not a host's name", entry),
				`write "example.com", or "*.example.com" for the names below it`)
		}
		if !below {
			n.exact[name] = true
			continue
		}
		if public, _ := publicsuffix.PublicSuffix(name); public == name {
			return n, diag.Hint(fmt.Errorf("[egress] allow: %q opens a public suffix, below which anybody can have a name and be sent what the agent knows", entry),
				`in <bare>/ward/config.toml write the hosts that are meant, such as "NAME.%s", or "*.NAME.%[1]s" for the names below one`, name)
		}
		n.suffixes = append(n.suffixes, "."+name)
	}
	return n, nil
}

// refuse says why a name is not allowed, or "". A suffix covers its owner's names: a public
// suffix below it (s3.amazonaws.com below amazonaws.com) begins other people's.
func (n names) refuse(host string) string {
	if n.exact[host] {
		return ""
	}
	why := "the name is not on the list of allowed ones"
	for _, suffix := range n.suffixes {
		if !strings.HasSuffix(host, suffix) || len(host) == len(suffix) {
			continue
		}
		public, _ := publicsuffix.PublicSuffix(host)
		if len(public) < len(suffix) {
			return ""
		}
		why = fmt.Sprintf("anybody can have a name below %s, which %q does not open", public, "*"+suffix)
	}
	return why
}

// target splits and checks host:port.
func target(hostport string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(hostport)
	if err != nil || len(hostport) > 300 {
		return "", "", &denial{what: clip(hostport), why: "it is not host:port"}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(host); err == nil || !hostName.MatchString(host) || len(host) > 253 {
		return "", "", &denial{what: clip(host), why: "only names are allowed, not addresses"}
	}
	if port != "443" && port != "80" {
		return "", "", &denial{what: host + ":" + clip(port), why: "only ports 443 and 80 are allowed"}
	}
	return host, port, nil
}

// denial is a connection that the fence forbids.
type denial struct {
	what, why string
	setting   string // what would allow it; empty if nothing does
}

func (d *denial) Error() string {
	text := "ward: " + d.what + " is refused: " + d.why
	if d.setting != "" {
		text += "\nward: to allow it: " + d.setting
	}
	return text
}
