package harness

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Claude Code says when a limit ends as "resets 10:33am (UTC)", "resets Dec 2, 4:09pm (Europe/Berlin)" or "resets Jan 15,
// 2027, 3pm (UTC)"; older versions as "limit reached|1764500000". Codex says "try again at 12:00 PM" or "try again at Dec 2nd,
// 2026 7:33 PM".
var (
	resetClock = regexp.MustCompile(`(?i)\b(?:resets|try again) (?:at |on )?` +
		`(?:([a-z]{3}) (\d{1,2})(?:st|nd|rd|th)?,? (?:(\d{4}),? )?(?:at )?)?` +
		`(\d{1,2})(?::(\d{2}))? ?([ap]m)(?: \(([A-Za-z0-9_+/-]+)\))?`)
	resetEpoch = regexp.MustCompile(`\|(\d{10})\b`)
)

// The longest limit is monthly. What says more was misread, and a harness held for a year is as good as gone.
const longestLimit = 32 * 24 * time.Hour

// resetTime returns the first moment after now that the text means, or zero when it names none that makes sense.
func resetTime(text string, now time.Time) time.Time {
	var at time.Time
	if m := resetEpoch.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64)
		at = time.Unix(seconds, 0)
	} else if m := resetClock.FindStringSubmatch(text); m != nil {
		at = clockTime(m[1:], now)
	}
	if !at.After(now) || at.Sub(now) > longestLimit {
		return time.Time{}
	}
	return at
}

// clockTime reads month, day, year, hour, minute, half of the day and zone; all but hour and half may be missing.
func clockTime(m []string, now time.Time) time.Time {
	where := now.Location()
	if zone, err := time.LoadLocation(m[6]); m[6] != "" && err == nil {
		where = zone
	}
	now = now.In(where)
	hour, _ := strconv.Atoi(m[3])
	minute, _ := strconv.Atoi(m[4])
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[5], "pm") {
		hour += 12
	}
	if m[0] == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, where)
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at
	}
	return datedTime(m, hour, minute, now)
}

func datedTime(m []string, hour, minute int, now time.Time) time.Time {
	day, err := time.ParseInLocation("Jan 2", m[0]+" "+m[1], now.Location())
	if err != nil {
		return time.Time{}
	}
	year, err := strconv.Atoi(m[2])
	if err != nil {
		year = now.Year()
	}
	at := time.Date(year, day.Month(), day.Day(), hour, minute, 0, 0, now.Location())
	if m[2] == "" && !at.After(now) {
		at = at.AddDate(1, 0, 0) // said in December of a day in January
	}
	return at
}
