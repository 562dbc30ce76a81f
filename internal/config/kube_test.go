package config

import (
	"strings"
	"testing"
)

// TestKube: what would only fail in a cluster, an hour later, fails where it is written.
func TestKube(t *testing.T) {
	for line, want := range map[string]string{
		`namespace = "team-7"`:                                   "",
		`namespace = ""`:                                         "names in Kubernetes",
		`namespace = "Team"`:                                     "names in Kubernetes",
		`service_account = ""`:                                   "",
		`runtime_class = "g visor"`:                              "names in Kubernetes",
		`image = "registry.example:5000/a/ward@sha256:00ff"`:     "",
		`image = "a b"`:                                          "no image",
		`image = "--privileged"`:                                 "no image",
		`gate = "ssh://git@gate.example:2222/srv/git/p.git"`:     "",
		`gate = "ssh://git@[2001:db8::1]:2222/srv/git/p.git"`:    "",
		`gate = "git@gate.example:p.git"`:                        "written ssh://",
		`gate = "https://gate.example/p.git"`:                    "written ssh://",
		`gate = "ssh://gate.example/p.git"`:                      "written ssh://",
		`gate = "ssh://git:secret@gate.example/p.git"`:           "password",
		`node_selector = ["pool=agents", "kubernetes.io/os=li"]`: "",
		`node_selector = ["pool"]`:                               "no label",
		`node_selector = ["po ol=x"]`:                            "no label",
	} {
		c, err := Parse([]byte("[kube]\n"+line+"\n"), "config.toml")
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", line, err)
		case err == nil && strings.HasPrefix(line, "node_selector") && c.Kube.Selector()["pool"] != "agents":
			t.Errorf("%s: %v", line, c.Kube.Selector())
		}
	}
	c := Default()
	c.Kube.Gate = "ssh://git@gate.example/p.git"
	if public := c.Public(); strings.Contains(string(public.Text), "gate.example") {
		t.Error("the audit says where the gate is")
	} else if _, err := Parse(public.Text, "the audit's"); err != nil {
		t.Error(err)
	}
	if Default().Kube.Selector() != nil {
		t.Error("a selector comes from nowhere")
	}
}
