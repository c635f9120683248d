package tmux

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// settings is the configuration of our server. Each line is there for a fault that was seen; window-size must not be manual here,
// which ends servers before 3.7 at the next new-session, and a line that the server does not know would put the first viewer's
// pane into a mode that swallows keys (hence -q).
const settings = `set -s exit-empty off
set -s set-clipboard off
set -s buffer-limit 50
set -g default-shell /bin/sh
set -g default-command ''
set -g default-terminal TERMINAL
set -g history-limit 20000
set -g update-environment ''
set -g destroy-unattached off
set -g detach-on-destroy on
set -g lock-after-time 0
set -g set-titles off
set -g mouse off
set -g status-right ''
set -g status-left '[#{session_name}] '
set -gw window-size largest
set -gw remain-on-exit on
set -gwq remain-on-exit-format 'ended (#{?#{!=:#{pane_dead_signal},},signal #{pane_dead_signal},status #{pane_dead_status}}); ` + Epitaph + `'
set -gw automatic-rename off
set -gw allow-rename off
set -gwq allow-passthrough off
set -gw synchronize-panes off
unbind-key x
unbind-key &
`

// Epitaph ends the last line of a dead pane, which tmux writes and not the program.
const Epitaph = "transcript only, C-b d leaves"

// configuration returns the settings, and the hash in their last line by which a server is known to have read them.
func configuration(terminal string) (text, hash string) {
	text = strings.Replace(settings, "TERMINAL", terminal, 1)
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:8])
	return text + "set -g @loop_conf " + hash + "\n", hash
}
