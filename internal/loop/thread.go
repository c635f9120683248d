package loop

import (
	"context"
	"time"
)

// Thread is an item as its provider shows it when it is asked, and the way to what happened on it.
type Thread struct {
	// Event is the item with its repository, as an event would show it; it has no kind and no action. Of a pull request that
	// was listed, the branches are not known.
	Event Event
	// At is when the item, or what is said on it, last changed.
	At time.Time
	// Told asks what happened on the item at or after a time, and returns it in order, as the webhook would have told it: the
	// item opened, labels set, what was said, the item closed and reopened. The id of a delivery is the asker's to set.
	// What another than its author has edited is dropped already, and a title or a description that another has edited since is
	// not told. Of a pull request it is told as well how its branch stands,
	// as synchronize. The zero time is from the beginning.
	Told func(ctx context.Context, since time.Time) ([]Delivery, error)
	// Stands asks whether the description is as its author has left it.
	Stands func(ctx context.Context) (bool, error)
}

// WorkItem names the item where it is now.
func (t Thread) WorkItem() WorkItem { return t.Event.WorkItem() }

// Changes are the items of a repository that changed since a time, the one that changed first being the first. They are
// complete.
type Changes struct {
	Threads []Thread
	Now     time.Time // the provider's clock when it was asked: all that changed before is among them, but for its own delays
}
