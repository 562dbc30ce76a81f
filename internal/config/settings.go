package config

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"time"
)

// Config is every setting. The fields are documented in config.toml.
type Config struct {
	Identity Identity `toml:"identity"`
	Control  Control  `toml:"control"`
	Rights   struct {
		AgentMerge      bool     `toml:"agent_merge"`
		UnfencedMerge   bool     `toml:"unfenced_merge"`
		Protected       []string `toml:"protected"`
		ProtectedOnMain []string `toml:"protected_on_main"`
		NewRoot         string   `toml:"new_root"` // Review or Ask
		AgentBranches   int      `toml:"agent_branches"`
	} `toml:"rights"`
	Limits struct {
		InputSize    int64    `toml:"input_size"`
		BlobSize     int64    `toml:"blob_size"`
		PushSize     int64    `toml:"push_size"`
		Commits      int      `toml:"commits"`
		ChangedPaths int      `toml:"changed_paths"`
		Depth        int      `toml:"depth"`
		PathLength   int      `toml:"path_length"`
		MessageSize  int64    `toml:"message_size"`
		SecretScan   int64    `toml:"secret_scan"`
		RecordSize   int64    `toml:"record_size"`
		UnitMessages int      `toml:"unit_messages"`
		UnitWords    int64    `toml:"unit_words"`
		AgentObjects int64    `toml:"agent_objects"`
		DiskFree     int64    `toml:"disk_free"`
		Memory       int64    `toml:"memory"`
		Alloc        int64    `toml:"alloc"`
		CPU          Duration `toml:"cpu"`
		Deadline     Duration `toml:"deadline"`
	} `toml:"limits"`
	Audit struct {
		Foreign []string `toml:"foreign"`
	} `toml:"audit"`
	Hooks struct {
		Mode       string   `toml:"mode"` // Enforce or Observe
		MaxUDCRisk string   `toml:"max_udc_risk"`
		UDCTime    Duration `toml:"udc_time"`
	} `toml:"hooks"`
	Door struct {
		Burst        int      `toml:"burst"`
		PerMinute    int      `toml:"per_minute"`
		Time         Duration `toml:"time"`
		CPU          Duration `toml:"cpu"`
		CPUPerMinute Duration `toml:"cpu_per_minute"`
		Memory       int64    `toml:"memory"`
	} `toml:"door"`
	Egress struct {
		Mode        string   `toml:"mode"`
		Allow       []string `toml:"allow"`
		Refuse      []string `toml:"refuse"`
		Connections int      `toml:"connections"`
		Packets     int      `toml:"packets"`
	} `toml:"egress"`
	Launch struct {
		Agents    int      `toml:"agents"`
		Lease     Duration `toml:"lease"`
		Memory    int64    `toml:"memory"`
		Processes int64    `toml:"processes"`
	} `toml:"launch"`
	Sandbox struct {
		Image     string   `toml:"image"`
		Runtime   string   `toml:"runtime"`
		Processes int64    `toml:"processes"`
		Memory    int64    `toml:"memory"`
		CPUs      float64  `toml:"cpus"`
		Files     int64    `toml:"files"`
		TmpSize   int64    `toml:"tmp_size"`
		StateSize int64    `toml:"state_size"`
		Resolvers []string `toml:"resolvers"`
		Programs  string   `toml:"programs"`
	} `toml:"sandbox"`
	Kube   Kube `toml:"kube"`
	Budget struct {
		Tokens    int64    `toml:"tokens"`
		Cost      string   `toml:"cost"` // a decimal; no float on that path
		FreeCalls int      `toml:"free_calls"`
		Time      Duration `toml:"time"`
		Grace     Duration `toml:"grace"`
	} `toml:"budget"`
	Loop   Loop `toml:"loop"`
	Verify struct {
		Agents          int      `toml:"agents"`
		Timeout         Duration `toml:"timeout"`
		OutputSize      int64    `toml:"output_size"`
		CheckoutEntries int      `toml:"checkout_entries"`
		CheckoutDepth   int      `toml:"checkout_depth"`
		CheckoutSize    int64    `toml:"checkout_size"`
		Network         string   `toml:"network"`
		Suite           string   `toml:"suite"`
		Cache           []string `toml:"cache"`
		CacheSize       int64    `toml:"cache_size"`
		CacheSources    []string `toml:"cache_sources"`
		SecondImage     string   `toml:"second_image"`
		Pinned          []string `toml:"pinned"`
	} `toml:"verify"`
	Model struct {
		Name             string   `toml:"name"`
		ID               string   `toml:"id"`
		Also             []string `toml:"also"`
		API              string   `toml:"api"`
		Context          int64    `toml:"context"`
		MaxOutput        int64    `toml:"max_output"`
		Tries            int      `toml:"tries"`
		Patience         Duration `toml:"patience"`
		Silence          Duration `toml:"silence"`
		Script           string   `toml:"script"`
		Command          []string `toml:"command"`
		Prompt           string   `toml:"prompt"`
		Timeout          Duration `toml:"timeout"`
		AnthropicURL     string   `toml:"anthropic_url"`
		AnthropicKeyFile string   `toml:"anthropic_key_file"`
		OpenAIURL        string   `toml:"openai_url"`
		OpenAIKeyFile    string   `toml:"openai_key_file"`
	} `toml:"model"`
	Prices []Price `toml:"prices"`
	Notify struct {
		Command []string `toml:"command"`
		Timeout Duration `toml:"timeout"`
		PerHour int      `toml:"per_hour"`
	} `toml:"notify"`
	Agent struct {
		Loop            bool     `toml:"loop"`
		VerdictPatience Duration `toml:"verdict_patience"`
		Poll            Duration `toml:"poll"`
		RetryPause      Duration `toml:"retry_pause"`
		Stale           Duration `toml:"stale"`
		BashTimeout     Duration `toml:"bash_timeout"`
		OutputSize      int      `toml:"output_size"`
		MaxTurns        int      `toml:"max_turns"`
		Refusals        int      `toml:"refusals"`
		Scout           bool     `toml:"scout"`
	} `toml:"agent"`
	Search struct {
		URL string `toml:"url"`
	} `toml:"search"`
	Bootstrap struct {
		Build           []string `toml:"build"`
		Validate        []string `toml:"validate"`
		Run             []string `toml:"run"`
		BuildTimeout    Duration `toml:"build_timeout"`
		ValidateTimeout Duration `toml:"validate_timeout"`
		StartTimeout    Duration `toml:"start_timeout"`
		Check           Duration `toml:"check"`
	} `toml:"bootstrap"`
	Guard struct {
		CPU       float64  `toml:"cpu"`
		CPUWindow Duration `toml:"cpu_window"`
		Memory    int64    `toml:"memory"`
		Logs      int64    `toml:"logs"`
		Restarts  int      `toml:"restarts"`
	} `toml:"guard"`
	VM struct {
		Calls           []string            `toml:"calls"`
		Tools           map[string][]string `toml:"tools"` // command lines by the names that calls may have besides
		MaxInstructions int64               `toml:"max_instructions"`
		MaxCells        int64               `toml:"max_cells"`
		MaxTime         Duration            `toml:"max_time"`
		MaxOutput       int64               `toml:"max_output"`
	} `toml:"vm"`
}

// Loop is what a bounded loop has where its directive says nothing (seed 003,
// section 6.1). Its fields are those of protocols/loop.Base, so that one struct
// converts to the other.
type Loop struct {
	Profile                  string   `toml:"profile"`
	Rp                       string   `toml:"r_p"` // a decimal; no float on that path
	MaxIterations            int      `toml:"max_iterations"`
	MaxToolCallsPerIteration int      `toml:"max_tool_calls_per_iteration"`
	MaxSecondsPerIteration   int      `toml:"max_seconds_per_iteration"`
	MaxTotalSeconds          int      `toml:"max_total_seconds"`
	MaxTotalToolCalls        int      `toml:"max_total_tool_calls"`
	DependsOn                []string `toml:"depends_on"`
}

// Price is what a model costs per million tokens, in decimals.
type Price struct {
	Model      string `toml:"model"`
	Input      string `toml:"input"`
	Output     string `toml:"output"`
	CacheRead  string `toml:"cache_read"`
	CacheWrite string `toml:"cache_write"`
	Date       string `toml:"date"` // of the price, such as 2026-11-01; "" for unknown
}

// PricesOf is the oldest day of a price table, "" where it says none.
func PricesOf(table []Price) (day string) {
	for _, p := range table {
		if p.Date != "" && (day == "" || p.Date < day) {
			day = p.Date
		}
	}
	return day
}

// Duration is a time.Duration written as "90s".
type Duration struct{ time.Duration }

// UnmarshalText reads what time.ParseDuration reads, if it is positive.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	switch {
	case err != nil:
		err = fmt.Errorf("%q is no time such as \"90s\" or \"10m\"", text)
	case v <= 0:
		err = fmt.Errorf("%q is not a positive time", text)
	}
	d.Duration = v
	return err
}

// all yields every setting with its key ("limits.depth"), in the order of
// config.toml.
func (c *Config) all() iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		v := reflect.ValueOf(c).Elem()
		for i := range v.NumField() {
			section := v.Type().Field(i).Tag.Get("toml")
			if v.Field(i).Kind() != reflect.Struct { // the prices, a list of tables
				if !yield(section, v.Field(i)) {
					return
				}
				continue
			}
			for j := range v.Field(i).NumField() {
				if !yield(section+"."+v.Field(i).Type().Field(j).Tag.Get("toml"), v.Field(i).Field(j)) {
					return
				}
			}
		}
	}
}

// settings are all settings by their keys.
func (c *Config) settings() map[string]reflect.Value { return maps.Collect(c.all()) }
