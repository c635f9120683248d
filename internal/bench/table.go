package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// row is one line of the table.
type row struct {
	what   string
	loop   string // what was measured of Loop
	beside string // the same of the yardstick
	ratio  string
	aim    string
	met    string
}

func writeTable(to io.Writer, rows []row) {
	fmt.Fprintf(to, "%s, %s/%s, %d cores\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintln(to, "| what | Loop | yardstick | ratio | aim | met |")
	fmt.Fprintln(to, "|---|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(to, "| %s | %s | %s | %s | %s | %s |\n", r.what, r.loop, r.beside, r.ratio, r.aim, r.met)
	}
}

// said tells whether an aim was met.
func said(met bool) string {
	if met {
		return "yes"
	}
	return "no"
}

func median[T cmp.Ordered](of []T) T {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// late is the time that one of a hundred is beyond.
func late(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)*99/100]
}

// ms shows a duration in milliseconds.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v < 10 {
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.0f ms", v)
}

// mb shows bytes in millions.
func mb(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
