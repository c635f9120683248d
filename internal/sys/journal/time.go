package journal

import "time"

// Micros is a time as the journal's tables keep it: microseconds since 1970 in UTC, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Moment is the time that Micros wrote, in UTC.
func Moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
