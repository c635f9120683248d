package agenttest

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// flagValues says how many values a flag takes; many is as many as there are.
var flagValues = map[string]int{
	"--session-id": 1, "--resume": 1, "-r": 1, "--settings": 1, "--permission-mode": 1, "--setting-sources": 1, "--model": 1,
	"--fallback-model": 1, "--append-system-prompt": 1, "--name": 1, "-n": 1, "--plugin-dir": 1, "--debug-file": 1, "--effort": 1,
	"--add-dir": many, "--allowedTools": many, "--allowed-tools": many, "--disallowedTools": many, "--disallowed-tools": many,
	"--tools": many, "--mcp-config": many,
	"--dangerously-skip-permissions": 0, "--strict-mcp-config": 0, "--verbose": 0, "--bare": 0, "--safe-mode": 0, "--restricted": 0,
	"--ide": 0,
}

const many = 1 << 10

// options are a command line of Claude Code in a terminal.
type options struct {
	call
	settings string
	mode     string
}

func parseTUI(args []string) (o options, complaint string) {
	for len(args) > 0 {
		arg := args[0]
		if args = args[1:]; arg == "--" || !strings.HasPrefix(arg, "-") {
			if arg != "--" {
				args = append([]string{arg}, args...)
			}
			o.prompt = strings.Join(args, " ")
			break
		}
		name, value, joined := strings.Cut(arg, "=")
		n, known := flagValues[name]
		if !known {
			return o, fmt.Sprintf("error: unknown option '%s'", name)
		}
		if !joined && n > 0 {
			if len(args) == 0 {
				return o, fmt.Sprintf("error: option '%s <value>' argument missing", name)
			}
			value = args[0]
			for n > 0 && len(args) > 0 && (n == 1 || !strings.HasPrefix(args[0], "-")) {
				n, args = n-1, args[1:]
			}
		}
		o.set(name, value)
	}
	if _, err := uuid.Parse(o.id); err != nil && o.id != "" && !o.resume {
		return o, "Error: Invalid session ID. Must be a valid UUID."
	}
	return o, ""
}

func (o *options) set(name, value string) {
	switch name {
	case "--session-id":
		o.id = value
	case "--resume", "-r":
		o.id, o.resume = value, true
	case "--settings":
		o.settings = value
	case "--permission-mode":
		o.mode = value
	}
}
