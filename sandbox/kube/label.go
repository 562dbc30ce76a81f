package kube

import (
	"crypto/sha256"
	"fmt"
)

// The labels of all objects of a launch, in addition to the manifest's. By these labels a
// launcher finds its objects in the cluster, and those of a killed launcher.
const (
	gateLabel      = "ward/gate"      // the repository and its gate
	directiveLabel = "ward/directive" // D-n
	leaseLabel     = "ward/lease"     // the lease's id
)

// mark tells this repository's Jobs from those of another of the same name, on this or another
// gate, in the same namespace.
func (p *Plan) mark() string {
	sum := sha256.Sum256([]byte(p.Gate.HostKey + "\x00" + p.Bare))
	return fmt.Sprintf("%x", sum[:8])
}
