package gateway

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"git-ward/internal/diag"
)

// names is the list of allowed host names.
type names struct {
	exact    map[string]bool
	suffixes []string // ".suffix"
}

// hostName is a name in lower case, as the DNS has it. An address is none: its
// last label would have a digit at its beginning.
var hostName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// newNames reads [egress] allow. A name is exact; *.suffix is every name below
// suffix, but not suffix itself.
func newNames(list []string) (names, error) {
	n := names{exact: map[string]bool{}}
	for _, entry := range list {
		name, below := strings.CutPrefix(strings.ToLower(entry), "*.")
		if !hostName.MatchString(name) || len(name) > 253 || below && !strings.Contains(name, ".") {
			return n, diag.Hint(fmt.Errorf("[egress] allow: %q is not a host's name", entry),
				`write "example.com", or "*.example.com" for the names below it`)
		}
		if below {
			n.suffixes = append(n.suffixes, "."+name)
		} else {
			n.exact[name] = true
		}
	}
	return n, nil
}

func (n names) allow(host string) bool {
	if n.exact[host] {
		return true
	}
	for _, suffix := range n.suffixes {
		if strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
			return true
		}
	}
	return false
}

// target splits host:port into a name and a port, both checked for their form.
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
