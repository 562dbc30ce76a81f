// Package manifest is the pod of one directive as Kubernetes wants it said, and podman: a
// pure function from what a launch knows to objects, and from objects to YAML (MANY-3). It
// asks nobody, and no key ever passes through it but as bytes of a Secret.
//
// The objects are structs of this package, with the fields that Ward sets and no other: the
// official types (k8s.io/api) print empty statuses and times, and would bring four modules
// and some megabytes into the launcher for a hundred lines.
package manifest
