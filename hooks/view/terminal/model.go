package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// model is the terminal program: scenes come in, keys change the state, screens go out.
type model struct {
	scene  Scene
	state  state
	w, h   int
	moved  bool // by keys
	glyphs glyphs
	looker *Looker
	halt   func() // before the program stops for a while (ctrl-z)
	again  func() // when it goes on
}

// Init does nothing: the looker sends scenes.
func (m model) Init() tea.Cmd { return nil }

// Update takes one message.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case Scene:
		m.take(msg)
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.ResumeMsg:
		m.again()
		return m, tea.ClearScreen
	case stopMsg:
		m.halt()
		return m, tea.Suspend
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

// take takes a scene; if the reader has scrolled back, the view stays where it is.
func (m *model) take(s Scene) {
	if m.state.back > 0 && s.One != nil && !m.state.facts {
		c := canvas{m.w, m.h, m.glyphs}
		for _, e := range s.New {
			if e.Directive() == s.Name {
				m.state.back += len(c.event(e, false))
			}
		}
	}
	m.scene = s
	if s.Over != nil && !m.moved { // choose the first item, the most important, until the reader has chosen
		m.state.chosen = ""
		m.choose(0)
	}
}

// stopMsg asks the program to stop the process (ctrl-z).
type stopMsg struct{}

// key handles a key. Keys change only the view.
func (m model) key(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "ctrl+c":
		return m, tea.Interrupt
	case "q", "Q":
		return m, tea.Quit
	}
	if m.state.help {
		m.state.help, m.state.back = false, 0
		return m, nil
	}
	page := max(m.h-4, 1)
	switch key {
	case "?", "f1":
		m.state.help, m.state.back = true, 0
	case "ctrl+z":
		return m, func() tea.Msg { return stopMsg{} }
	case "r", "ctrl+l":
		m.looker.Again()
		return m, tea.ClearScreen
	case "enter", "right", "l":
		if m.scene.Name == "" && m.state.chosen != "" {
			m.moved = true
			m.open(m.state.chosen)
		}
	case "esc", "backspace", "left", "h":
		if m.scene.Name != "" {
			m.open("")
		}
	case "tab":
		m.state.facts, m.state.back = !m.state.facts, 0
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup", "b", "ctrl+u":
		m.move(-page)
	case "pgdown", "space", " ", "ctrl+d":
		m.move(page)
	case "home", "g":
		m.move(-1 << 20)
	case "end", "G":
		m.move(1 << 20)
	}
	return m, nil
}

// open opens a directive, or with "" all of them.
func (m *model) open(name string) {
	m.state.facts, m.state.back = false, 0
	m.scene.Name, m.scene.One, m.scene.Live, m.scene.NotThere = name, nil, nil, false
	m.looker.Open(name)
}

// move moves n lines down (or up, if negative): to another directive in the list, else by scrolling.
func (m *model) move(n int) {
	c := canvas{max(m.w, 1), max(m.h, 1), m.glyphs}
	switch {
	case m.scene.Over == nil:
	case m.scene.Name == "":
		m.moved = true
		m.choose(n)
	case m.scene.One == nil:
	case m.state.facts: // counted from the top
		m.state.back = min(max(m.state.back+n, 0), len(c.facts(m.scene, false)))
	default: // counted from the newest
		m.state.back = min(max(m.state.back-n, 0), max(len(c.words(m.scene))-1, 0))
	}
}

// choose chooses the directive n positions after the chosen one.
func (m *model) choose(n int) {
	var items []string
	at := 0
	for _, b := range (canvas{max(m.w, 1), max(m.h, 1), m.glyphs}).overview(m.scene) {
		if b.item == "" || len(items) > 0 && items[len(items)-1] == b.item {
			continue
		}
		if b.item == m.state.chosen {
			at = len(items)
		}
		items = append(items, b.item)
	}
	if len(items) > 0 {
		m.state.chosen = items[max(0, min(at+n, len(items)-1))]
	}
}

// View is the screen.
func (m model) View() tea.View {
	var v tea.View
	v.AltScreen = true
	if m.w > 0 && m.h > 0 {
		v.Content = paint(screen(m.scene, m.state, m.w, m.h, m.glyphs))
	}
	return v
}

// styles are the roles' styles. The library leaves colours out if the terminal has none or NO_COLOR is set.
var styles = map[Role]lipgloss.Style{
	Title:  lipgloss.NewStyle().Bold(true),
	Faint:  lipgloss.NewStyle().Faint(true),
	Good:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	Bad:    lipgloss.NewStyle().Foreground(lipgloss.Red),
	Wants:  lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true),
	Typed:  lipgloss.NewStyle().Foreground(lipgloss.Cyan),
	Chosen: lipgloss.NewStyle().Bold(true),
}

func paint(rows []row) string {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, p := range r {
			if style, ok := styles[p.role]; ok && p.text != "" {
				p.text = style.Render(p.text)
			}
			b.WriteString(p.text)
		}
	}
	return b.String()
}
