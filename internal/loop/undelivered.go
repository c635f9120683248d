package loop

import "time"

// Undelivered is an event that a provider could not bring us by webhook, and may be asked to bring again.
type Undelivered struct {
	ID   DeliveryID // under which it comes, whenever it does
	Kind Kind
	Hook string    // the webhook, by the provider's number
	Try  int64     // the last try that failed, by the provider's number
	At   time.Time // of that try
}
