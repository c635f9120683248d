package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Options say which agents there are and how they are started.
type Options struct {
	Socket   string             // of loopd; told to the agents as LOOP_SOCKET
	Environ  []string           // loopd's own environment, from which the allow-list takes
	Withhold []string           // names of variables that hold loopd's secrets: no agent ever gets them
	Agents   map[string]Program // by name
}

// Program is how the configuration wants an agent to be started.
type Program struct {
	Command  string            // a name to be found in the agent's PATH, or an absolute path; "" is the agent's usual name
	Args     []string          // added to every start
	Env      map[string]string // added to the agent's environment
	Declared *Declared         // of an agent that this loopd does not know by itself
}

// Set holds the agents of one configuration. It never changes.
type Set struct {
	agents map[string]Agent
}

// New returns the agents that the options name. The error is ErrInvalid for an agent that this loopd does not know and that
// is not declared, and for arguments that contradict what Loop passes itself.
func New(o Options) (*Set, error) {
	s := &Set{agents: make(map[string]Agent, len(o.Agents))}
	for _, name := range slices.Sorted(maps.Keys(o.Agents)) {
		agent, err := newAgent(name, o.Agents[name], o)
		if err != nil {
			return nil, err
		}
		s.agents[name] = agent
	}
	return s, nil
}

func newAgent(name string, p Program, o Options) (Agent, error) {
	switch {
	case p.Declared != nil && slices.Contains(builtIn(), name):
		return nil, fmt.Errorf("harness %q is built in and can't be declared: %w", name, loop.ErrInvalid)
	case p.Declared != nil:
		return newDeclared(name, p, o)
	case name == claudeName:
		return newClaude(p, o)
	case name == cursorName:
		return newCursor(p, o)
	case name == codexName:
		return newCodex(p, o)
	}
	return nil, unknown(name, builtIn())
}

// builtIn are the names of the agents that need no declaration.
func builtIn() []string { return []string{claudeName, codexName, cursorName} }

// Agent returns the agent of that name. The error is ErrInvalid and names those that there are.
func (s *Set) Agent(name string) (Agent, error) {
	if a, ok := s.agents[name]; ok {
		return a, nil
	}
	return nil, unknown(name, s.Names())
}

// Names returns the names of the agents, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.agents)) }

func unknown(name string, known []string) error {
	return fmt.Errorf("harness %q is not one that this loopd can drive; it can drive %s: %w",
		name, strings.Join(known, ", "), loop.ErrInvalid)
}
