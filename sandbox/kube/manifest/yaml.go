package manifest

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// YAML is objects as one text, a document each.
func YAML(objects []Object) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	for _, o := range objects {
		if err := enc.Encode(o); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), enc.Close()
}

// Podman is the same pod for `podman kube play`, which knows neither Jobs nor sidecars
// (4.3): near is an ordinary container there, and who works waits for its socket. The rules,
// the users, the rights and the mounts are the same.
func (s *Spec) Podman() []Object {
	pod := s.pod()
	near := pod.InitContainers[1]
	near.RestartPolicy, near.StartupProbe = "", nil
	worker := &pod.Containers[0]
	wait := `until [ -S "$0" ]; do sleep 0.1; done; exec "$@"`
	socket := nearDir + "/life/sock"
	if s.Verify != nil {
		socket = nearDir + "/result/sock"
	}
	worker.Command = append([]string{"/bin/sh", "-c", wait, socket}, worker.Command...)
	pod.InitContainers, pod.Containers = pod.InitContainers[:1], []container{near, *worker}
	pod.InitContainers[0].Env = nil // a node's address is unknown
	o := s.object("v1", "Pod", pod)
	return append(s.Besides()[:2], o)
}
