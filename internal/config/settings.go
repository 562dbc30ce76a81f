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
		AgentMerge      bool     `toml:"agent_merge" shown:"inside" init:"yes"`
		UnfencedMerge   bool     `toml:"unfenced_merge" shown:"inside"`
		Protected       []string `toml:"protected" shown:"inside"`
		ProtectedOnMain []string `toml:"protected_on_main" shown:"inside"`
		NewRoot         string   `toml:"new_root" shown:"inside" init:"yes"` // Review or Ask
		AgentBranches   int      `toml:"agent_branches" shown:"inside"`
	} `toml:"rights"`
	Limits struct {
		InputSize    int64    `toml:"input_size" shown:"inside"`
		BlobSize     int64    `toml:"blob_size" shown:"inside"`
		PushSize     int64    `toml:"push_size" shown:"inside"`
		Commits      int      `toml:"commits" shown:"inside"`
		ChangedPaths int      `toml:"changed_paths" shown:"inside"`
		Depth        int      `toml:"depth" shown:"inside"`
		PathLength   int      `toml:"path_length" shown:"inside"`
		MessageSize  int64    `toml:"message_size" shown:"inside"`
		SecretScan   int64    `toml:"secret_scan" shown:"inside"`
		RecordSize   int64    `toml:"record_size" shown:"inside"`
		UnitMessages int      `toml:"unit_messages" shown:"inside"`
		UnitWords    int64    `toml:"unit_words" shown:"inside"`
		AgentObjects int64    `toml:"agent_objects" shown:"audit"`
		DiskFree     int64    `toml:"disk_free" shown:"hand"`
		Memory       int64    `toml:"memory" shown:"inside"`
		Alloc        int64    `toml:"alloc" shown:"inside"`
		CPU          Duration `toml:"cpu" shown:"inside"`
		Deadline     Duration `toml:"deadline" shown:"inside"`
	} `toml:"limits"`
	Audit struct {
		Foreign []string `toml:"foreign" shown:"audit"`
	} `toml:"audit"`
	Hooks struct {
		Mode       string   `toml:"mode" shown:"inside" init:"yes"` // Enforce or Observe
		MaxUDCRisk string   `toml:"max_udc_risk" shown:"inside"`
		UDCTime    Duration `toml:"udc_time" shown:"inside"`
	} `toml:"hooks"`
	Door struct {
		Burst        int      `toml:"burst" shown:"audit"`
		PerMinute    int      `toml:"per_minute" shown:"audit"`
		Time         Duration `toml:"time" shown:"audit"`
		CPU          Duration `toml:"cpu" shown:"audit"`
		CPUPerMinute Duration `toml:"cpu_per_minute" shown:"audit"`
		Memory       int64    `toml:"memory" shown:"audit"`
	} `toml:"door"`
	Egress struct {
		Mode        string   `toml:"mode" shown:"hand" init:"yes"`
		Allow       []string `toml:"allow" shown:"hand" init:"yes"`
		Refuse      []string `toml:"refuse" shown:"hand"`
		Connections int      `toml:"connections" shown:"hand"`
		Packets     int      `toml:"packets" shown:"hand"`
	} `toml:"egress"`
	Launch struct {
		Agents     int      `toml:"agents" shown:"audit" init:"yes"`
		HandAgents int      `toml:"hand_agents" shown:"audit"`
		Lease      Duration `toml:"lease" shown:"audit"`
		Linger     Duration `toml:"linger" shown:"inside"`
		Silence    Duration `toml:"silence" shown:"inside"`
		Warm       int      `toml:"warm" shown:"audit"`
		Memory     int64    `toml:"memory" shown:"audit"`
		Processes  int64    `toml:"processes" shown:"audit"`
	} `toml:"launch"`
	Sandbox struct {
		Image     string   `toml:"image" shown:"hand" init:"yes"`
		Runtime   string   `toml:"runtime" shown:"hand"`
		Processes int64    `toml:"processes" shown:"hand"`
		Memory    int64    `toml:"memory" shown:"hand" init:"yes"`
		CPUs      float64  `toml:"cpus" shown:"hand" init:"yes"`
		Files     int64    `toml:"files" shown:"hand"`
		TmpSize   int64    `toml:"tmp_size" shown:"hand"`
		StateSize int64    `toml:"state_size" shown:"hand"`
		Resolvers []string `toml:"resolvers" shown:"hand"`
		Programs  string   `toml:"programs" shown:"hand" init:"yes"`
	} `toml:"sandbox"`
	Kube   Kube `toml:"kube"`
	Budget struct {
		Tokens    int64    `toml:"tokens" shown:"audit" init:"yes"`
		Cost      string   `toml:"cost" shown:"audit" init:"yes"` // a decimal; no float on that path
		Calls     int      `toml:"calls" shown:"audit"`
		FreeCalls int      `toml:"free_calls" shown:"audit"`
		Time      Duration `toml:"time" shown:"audit" init:"yes"`
		Grace     Duration `toml:"grace" shown:"inside"`
	} `toml:"budget"`
	Loop   Loop `toml:"loop"`
	Verify struct {
		Agents          int      `toml:"agents" shown:"audit"`
		Timeout         Duration `toml:"timeout" shown:"inside" init:"yes"`
		OutputSize      int64    `toml:"output_size" shown:"audit"`
		CheckoutEntries int      `toml:"checkout_entries" shown:"audit"`
		CheckoutDepth   int      `toml:"checkout_depth" shown:"audit"`
		CheckoutSize    int64    `toml:"checkout_size" shown:"audit"`
		Network         string   `toml:"network" shown:"audit"`
		Suite           string   `toml:"suite" shown:"audit" init:"yes"`
		Cache           []string `toml:"cache" shown:"audit"`
		CacheSize       int64    `toml:"cache_size" shown:"audit"`
		CacheSources    []string `toml:"cache_sources"`
		SecondImage     string   `toml:"second_image" shown:"audit"`
		Work            []string `toml:"work" shown:"inside" init:"yes"`
		Pinned          []string `toml:"pinned" shown:"inside"`
		Controls        []string `toml:"controls" shown:"audit"`
	} `toml:"verify"`
	Model struct {
		Name             string   `toml:"name" shown:"inside" init:"yes"`
		ID               string   `toml:"id" shown:"inside" init:"yes"`
		Also             []string `toml:"also" shown:"inside"`
		API              string   `toml:"api" shown:"inside"`
		Context          int64    `toml:"context" shown:"inside"`
		MaxOutput        int64    `toml:"max_output" shown:"inside"`
		Tries            int      `toml:"tries" shown:"inside"`
		Patience         Duration `toml:"patience" shown:"inside"`
		Silence          Duration `toml:"silence" shown:"inside"`
		Script           string   `toml:"script" shown:"inside"`
		Command          []string `toml:"command" shown:"inside" init:"yes"`
		Prompt           string   `toml:"prompt" shown:"inside"`
		Timeout          Duration `toml:"timeout" shown:"inside"`
		AnthropicURL     string   `toml:"anthropic_url"`
		AnthropicKeyFile string   `toml:"anthropic_key_file" init:"yes"`
		OpenAIURL        string   `toml:"openai_url"`
		OpenAIKeyFile    string   `toml:"openai_key_file" init:"yes"`
	} `toml:"model"`
	Prices []Price `toml:"prices" shown:"audit"`
	Notify struct {
		Command []string `toml:"command" init:"yes"`
		Timeout Duration `toml:"timeout"`
		PerHour int      `toml:"per_hour"`
	} `toml:"notify"`
	Forge struct {
		URL               string   `toml:"url"`
		Kind              string   `toml:"kind" shown:"audit"`
		TokenFile         string   `toml:"token_file"`
		App               int      `toml:"app"`
		AppKeyFile        string   `toml:"app_key_file"`
		Label             string   `toml:"label"`
		Branches          string   `toml:"branches" shown:"audit"`
		Records           string   `toml:"records"`
		Poll              Duration `toml:"poll"`
		Webhook           string   `toml:"webhook"`
		WebhookURL        string   `toml:"webhook_url"`
		WebhookSecretFile string   `toml:"webhook_secret_file"`
	} `toml:"forge"`
	Agent struct {
		Loop            bool     `toml:"loop" shown:"inside"`
		VerdictPatience Duration `toml:"verdict_patience" shown:"inside"`
		Poll            Duration `toml:"poll" shown:"inside"`
		RetryPause      Duration `toml:"retry_pause" shown:"inside"`
		Stale           Duration `toml:"stale" shown:"inside"`
		Keep            Duration `toml:"keep" shown:"inside"`
		BashTimeout     Duration `toml:"bash_timeout" shown:"inside"`
		OutputSize      int      `toml:"output_size" shown:"inside"`
		MaxTurns        int      `toml:"max_turns" shown:"inside"`
		Refusals        int      `toml:"refusals" shown:"inside"`
		Scout           bool     `toml:"scout" shown:"inside"`
	} `toml:"agent"`
	Search struct {
		URL string `toml:"url" shown:"inside"`
	} `toml:"search"`
	Bootstrap struct {
		Build            []string `toml:"build" shown:"inside"`
		Validate         []string `toml:"validate" shown:"inside"`
		Run              []string `toml:"run" shown:"inside"`
		BuildTimeout     Duration `toml:"build_timeout" shown:"inside"`
		ValidateTimeout  Duration `toml:"validate_timeout" shown:"inside"`
		StartTimeout     Duration `toml:"start_timeout" shown:"inside"`
		Probation        bool     `toml:"probation" shown:"inside"`
		ProbationTimeout Duration `toml:"probation_timeout" shown:"inside"`
		Check            Duration `toml:"check" shown:"inside"`
	} `toml:"bootstrap"`
	Guard struct {
		CPU       float64  `toml:"cpu" shown:"inside"`
		CPUWindow Duration `toml:"cpu_window" shown:"inside"`
		Memory    int64    `toml:"memory" shown:"inside"`
		Logs      int64    `toml:"logs" shown:"inside"`
		Restarts  int      `toml:"restarts" shown:"inside"`
	} `toml:"guard"`
	VM struct {
		Calls           []string            `toml:"calls" shown:"inside"`
		Tools           map[string][]string `toml:"tools" shown:"inside"` // command lines by the names that calls may have besides
		MaxInstructions int64               `toml:"max_instructions" shown:"inside"`
		MaxCells        int64               `toml:"max_cells" shown:"inside"`
		MaxTime         Duration            `toml:"max_time" shown:"inside"`
		MaxOutput       int64               `toml:"max_output" shown:"inside"`
	} `toml:"vm"`
}

// OnForge reports whether a forge owns the project's branches (FORGE-1). The host alone is
// shown which; elsewhere it is false.
func (c *Config) OnForge() bool { return c.Forge.URL != "" }

// Loop has the defaults of a bounded loop, for what its directive leaves out (seed 003,
// section 6.1). Its fields equal those of protocols/loop.Base, so that one struct converts to
// the other.
type Loop struct {
	Profile                  string   `toml:"profile" shown:"inside"`
	Rp                       string   `toml:"r_p" shown:"inside"` // a decimal; no float on that path
	MaxIterations            int      `toml:"max_iterations" shown:"inside" init:"yes"`
	MaxToolCallsPerIteration int      `toml:"max_tool_calls_per_iteration" shown:"inside"`
	MaxSecondsPerIteration   int      `toml:"max_seconds_per_iteration" shown:"inside"`
	MaxTotalSeconds          int      `toml:"max_total_seconds" shown:"inside"`
	MaxTotalToolCalls        int      `toml:"max_total_tool_calls" shown:"inside"`
	DependsOn                []string `toml:"depends_on" shown:"inside"`
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

// PricesOf is the oldest date in a price table, "" where there is none.
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

// UnmarshalText reads a positive duration as time.ParseDuration does.
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

// field is one setting: its tags and its value.
type field struct {
	tag   reflect.StructTag
	value reflect.Value
}

// fields yields every setting with the name of its section, in the order of config.toml;
// the prices, a list of tables, are in none.
func (c *Config) fields() iter.Seq2[string, field] {
	return func(yield func(string, field) bool) {
		v := reflect.ValueOf(c).Elem()
		for i := range v.NumField() {
			section, of := v.Field(i), v.Type().Field(i)
			if section.Kind() != reflect.Struct {
				if !yield("", field{of.Tag, section}) {
					return
				}
				continue
			}
			for j := range section.NumField() {
				if !yield(of.Tag.Get("toml"), field{section.Type().Field(j).Tag, section.Field(j)}) {
					return
				}
			}
		}
	}
}

// all yields every setting with its key ("limits.depth"), in the same order.
func (c *Config) all() iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for section, f := range c.fields() {
			key := f.tag.Get("toml")
			if section != "" {
				key = section + "." + key
			}
			if !yield(key, f.value) {
				return
			}
		}
	}
}

// settings are all settings by their keys.
func (c *Config) settings() map[string]reflect.Value { return maps.Collect(c.all()) }
