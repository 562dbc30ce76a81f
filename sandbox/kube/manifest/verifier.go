package manifest

import "strconv"

// verifier is the container that runs a claim's commands: no key, no gateway, and no network
// but the pod's own loopback; what it finds goes to near's socket.
func (s *Spec) verifier() container {
	c := s.container("verifier", 0, "SETUID", "SETGID", "KILL", "CHOWN")
	c.WorkingDir = state
	c.Command = []string{bin + "/git-ward-launch", "verify", "--in-pod", escape(s.Verify.Claim), "--note", note,
		"--bare", mirror, "--config", configDir + "/" + configFile, "--scratch", state, "--result", nearDir + "/result/sock"}
	c.Env = s.environment()[:3]
	c.VolumeMounts = []mount{{"mirror", mirror, true}, {"near", nearDir, true}, {"net", noteDir, true},
		{"config", configDir, true}, {"state", state, false}, {"tmp", "/tmp", false}}
	c.Resources = s.bounds()
	return c
}

var _ = strconv.Itoa
