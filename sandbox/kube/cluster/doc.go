// Package cluster has the tests that a real Kubernetes decides, and nothing else: the whole
// way of a directive through pods, what befalls them, and docs/cluster.md (MANY-3, MANY-4).
// `scripts/test kube` runs them where WARD_KUBE_LAB names a cluster for tests; elsewhere they
// say SKIPPED.
package cluster
