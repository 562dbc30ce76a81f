package config

import (
	"fmt"
	"net/url"
	"strings"

	"git-ward/internal/pattern"
)

// Kube is where and how directives run as Jobs of Kubernetes (MANY-3).
type Kube struct {
	Namespace      string   `toml:"namespace" shown:"audit"`
	Image          string   `toml:"image" shown:"audit"`
	Gate           string   `toml:"gate"`
	HostKeyFile    string   `toml:"host_key_file"`
	ServiceAccount string   `toml:"service_account" shown:"audit"`
	NodeSelector   []string `toml:"node_selector" shown:"audit"` // NAME=VALUE
	RuntimeClass   string   `toml:"runtime_class" shown:"audit"`
}

// Selector is NodeSelector as Kubernetes expects it; nil for none.
func (k *Kube) Selector() map[string]string {
	var all map[string]string
	for _, label := range k.NodeSelector {
		if all == nil {
			all = map[string]string{}
		}
		name, value, _ := strings.Cut(label, "=")
		all[name] = value
	}
	return all
}

// The syntax of Kubernetes' DNS labels, and of names and values of labels.
var (
	dnsLabel   = pattern.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	labelName  = pattern.New(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = pattern.New(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	imageText  = pattern.New(`^[A-Za-z0-9][-A-Za-z0-9_.:/@]{0,511}$`)
)

// clusterName is the name of an object in a cluster; only the namespace may not be empty.
func clusterName(key string, values []string) error {
	if v := values[0]; !dnsLabel.MatchString(v) && (v != "" || key == "kube.namespace") {
		return fmt.Errorf("%s is %q: names in Kubernetes are small letters, digits and -, at most 63", key, v)
	}
	return nil
}

func imageName(key string, values []string) error {
	if v := values[0]; v != "" && !imageText.MatchString(v) {
		return fmt.Errorf("%s is %q, which is no image such as registry.example/ward:1", key, v)
	}
	return nil
}

// gateAddress is where pods reach the gate; what comes after the host is for people.
func gateAddress(key string, values []string) error {
	v := values[0]
	if v == "" || strings.HasPrefix(v, hidden) { // as the audit keeps it
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "ssh" || u.User.Username() == "" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s is %q: it is written ssh://USER@HOST:PORT/PATH", key, v)
	}
	if _, secret := u.User.Password(); secret {
		return fmt.Errorf("%s has a password: pods get a key of their own for each launch", key)
	}
	return nil
}

func nodeLabels(key string, values []string) error {
	for _, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || !labelName.MatchString(name) || !labelValue.MatchString(value) {
			return fmt.Errorf("%s has %q, which is no label such as \"pool=agents\"", key, v)
		}
	}
	return nil
}
