package inbox

import "github.com/loop-daemon/loop/internal/sys/journal"

// DB is the journal that the inbox is a part of.
func (in *Inbox) DB() *journal.DB { return in.db }
