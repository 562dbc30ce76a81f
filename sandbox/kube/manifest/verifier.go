package manifest

// verifier is the container that runs a claim's commands: without key, gateway, or network
// except the pod's loopback; its result goes to near's socket. Its first process runs as the
// watcher's user, and the commands as the agent's.
func (s *Spec) verifier() container {
	c := s.container("verifier", 0, "SETUID", "SETGID", "KILL")
	c.WorkingDir = state
	c.Command = append(s.first(), bin+"/git-ward-launch", "verify-in-pod", "--bare", mirror,
		"--order", configDir+"/"+orderFile, "--note", note, "--scratch", state, "--result", nearDir+"/result/sock")
	c.Env = s.environment()[:3]
	c.VolumeMounts = append(c.VolumeMounts, places()...)
	c.Resources = s.bounds()
	return c
}
