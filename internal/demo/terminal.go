package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// terminalSteps are those of an agent that lives in a terminal. It must be the demo harness, which writes down what is done there.
func (s *story) terminalSteps() []step {
	return []step{
		{"A label starts an agent in a terminal that you can look into", s.open, true},
		{"Somebody comments while it waits for you there", s.wake, true},
		{"That issue is closed too", s.leave, true},
	}
}

func (s *story) open(ctx context.Context) error {
	s.tell.say("So far each event had a process of its own. By default an agent lives in a terminal instead, in a tmux that loopd " +
		"keeps for itself. The demonstration's loop.toml said runner = \"headless\"; now it says runner = \"tmux\".")
	if err := s.edit(`runner = "headless"`, `runner = "tmux"`); err != nil {
		return err
	}
	if err := s.show(ctx, "reload"); err != nil {
		return err
	}
	run, err := s.toTerminal(ctx, labelled(checkout()), 1)
	if err != nil {
		return err
	}
	if s.living, err = proc.Of(run.PID); err != nil {
		return fmt.Errorf("look for the agent in the terminal: %w", err)
	}
	s.tell.passes("loopd", "claude", shellLine("claude", run.Args))
	s.tell.aside("in %s, in a terminal, where it is then told:", run.Dir)
	if _, err := s.screen(ctx); err != nil {
		return err
	}
	s.expect(!strings.Contains(strings.Join(run.Args, " "), "Checkout"), "no list of processes shows what it was told", run.Args)
	s.expect(len(run.Did(agenttest.ActDialog)) == 0, "it asked nothing that nobody would have answered", run.Acts)
	s.tell.say("This watches it from your own terminal; --write takes the keyboard too, Ctrl-b d goes back:")
	s.tell.command("loopctl attach " + third)
	return nil
}

func (s *story) wake(ctx context.Context) error {
	const text = "Only with three articles, or with many?"
	run, err := s.toTerminal(ctx, commented(checkout(), 66, "ana", text), 2)
	if err != nil {
		return err
	}
	prompts := run.Did(agenttest.ActPrompt)
	told := prompts[len(prompts)-1]
	s.tell.passes("loopd", "claude", "through a hook of Claude Code's that waits in the terminal for news:")
	s.tell.quote(middle(told.Text))
	s.expect(run.PID == s.living.PID && proc.Alive(s.living), fmt.Sprintf("the very process that the label started has answered: %d", run.PID), run.PID)
	s.expect(told.How == "woken" && len(prompts) == 2, "it was told once, and no key was typed for it", prompts)
	s.fenced(turn{Prompt: told.Text}, text)
	return s.show(ctx, "sessions", "list")
}

func (s *story) leave(ctx context.Context) error {
	r := closed(checkout())
	if _, err := s.send(ctx, r); err != nil {
		return err
	}
	d, err := s.settle(ctx, r.id)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "the agent to end", func() (bool, error) { return !proc.Alive(s.living), nil }); err != nil {
		return err
	}
	found, err := s.session(ctx, third)
	if err != nil {
		return err
	}
	s.expect(d.State == string(loop.StateDone) && found.Status == "closed", "its session is closed, and its agent has ended", found)
	record, err := s.screen(ctx)
	if err != nil {
		return err
	}
	s.expect(strings.Contains(record, "answer to turn 1") && strings.Contains(record, "answer to turn 2"),
		"what its terminal showed is still there to read", record)
	return nil
}

// screen shows what the agent's terminal shows, or showed.
func (s *story) screen(ctx context.Context) (string, error) {
	s.tell.command("loopctl logs " + third)
	text, err := s.loopctl(ctx, "logs", third)
	s.tell.screen(text)
	return text, err
}

// toTerminal posts what must reach the agent in the terminal, waits until it has answered so many turns and is idle, and returns
// what it did so far.
func (s *story) toTerminal(ctx context.Context, r request, turns int) (agenttest.Run, error) {
	a, err := s.send(ctx, r)
	if err != nil {
		return agenttest.Run{}, err
	}
	s.expect(a.status == http.StatusAccepted, "the delivery is accepted", a)
	d, err := s.settle(ctx, r.id)
	if err != nil {
		return agenttest.Run{}, err
	}
	if d.State != string(loop.StateDone) {
		return agenttest.Run{}, fmt.Errorf("the delivery ended %s %s: %s%s", d.State, d.Reason, d.Error, s.logTail())
	}
	var run agenttest.Run
	err = s.until(ctx, "the agent in the terminal to answer", func() (bool, error) {
		given, err := s.given()
		if err != nil {
			return false, err
		}
		if run = given[len(given)-1]; len(run.Did(agenttest.ActAnswer)) < turns {
			return false, nil
		}
		found, err := s.session(ctx, third)
		return found.Presence.Turn == string(loop.TurnIdle), err
	})
	if err != nil {
		return run, err
	}
	if turns == 1 {
		s.runs++
	}
	return run, s.countRuns()
}

// until waits for something that is to happen.
func (s *story) until(ctx context.Context, what string, happened func() (bool, error)) error {
	for {
		ok, err := happened()
		switch {
		case ok || err != nil:
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: %w%s", what, context.Cause(ctx), s.logTail())
		}
		pause(ctx)
	}
}
