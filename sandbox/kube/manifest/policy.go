package manifest

import (
	"net/netip"

	"git-ward/sandbox/firewall"
)

type networkPolicy struct {
	PodSelector selector     `yaml:"podSelector" json:"podSelector"`
	PolicyTypes []string     `yaml:"policyTypes" json:"policyTypes"`
	Egress      []egressRule `yaml:"egress" json:"egress"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels" json:"matchLabels"`
}

type egressRule struct {
	To    []peer `yaml:"to" json:"to"`
	Ports []port `yaml:"ports,omitempty" json:"ports,omitempty"`
}

type peer struct {
	IPBlock ipBlock `yaml:"ipBlock" json:"ipBlock"`
}

type ipBlock struct {
	CIDR   string   `yaml:"cidr" json:"cidr"`
	Except []string `yaml:"except,omitempty" json:"except,omitempty"`
}

type port struct {
	Protocol string `yaml:"protocol" json:"protocol"`
	Port     uint16 `yaml:"port" json:"port"`
}

// network repeats the fence's rules as a NetworkPolicy: nobody connects to the pod, and it
// reaches only the gate and, if the policy is public, public addresses. Many network plugins
// silently enforce nothing, and none can tell near from the agent, so nothing relies on it.
func (s *Spec) network() Object {
	spec := networkPolicy{
		PodSelector: selector{map[string]string{"ward/job": s.Name}},
		PolicyTypes: []string{"Ingress", "Egress"},
	}
	for _, gate := range s.Policy.Gates {
		block := peer{ipBlock{CIDR: gate.Addr().String() + hostBits(gate.Addr())}}
		spec.Egress = append(spec.Egress, egressRule{[]peer{block}, []port{{"TCP", gate.Port()}}})
	}
	if s.Verify == nil && s.Policy.Mode == firewall.Public {
		spec.Egress = append(spec.Egress, egressRule{To: []peer{
			{ipBlock{CIDR: "0.0.0.0/0", Except: private4}}, {ipBlock{CIDR: "::/0", Except: private6}},
		}})
		for _, r := range s.Policy.Resolvers {
			block := peer{ipBlock{CIDR: r.String() + hostBits(r)}}
			spec.Egress = append(spec.Egress, egressRule{[]peer{block}, []port{{"UDP", 53}, {"TCP", 53}}})
		}
		if len(s.Policy.Resolvers) == 0 { // the pod's own name servers, usually a service in the cluster
			all := []peer{{ipBlock{CIDR: "0.0.0.0/0"}}, {ipBlock{CIDR: "::/0"}}}
			spec.Egress = append(spec.Egress, egressRule{all, []port{{"UDP", 53}, {"TCP", 53}}})
		}
	}
	return s.companion("networking.k8s.io/v1", "NetworkPolicy", spec)
}

func hostBits(a netip.Addr) string {
	if a.Is4() {
		return "/32"
	}
	return "/128"
}

// The private networks of SBX-2, as far as a NetworkPolicy takes them.
var (
	private4 = []string{"10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"}
	private6 = []string{"fc00::/7", "fe80::/10"}
)
