package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc, which is the same on all machines that Go runs on.
const tick = 10 * time.Millisecond

// cpuOf returns the processor time that a process has used.
func cpuOf(pid int) (time.Duration, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("too few fields in stat")
	}
	user, userErr := strconv.Atoi(string(fields[11]))
	system, systemErr := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * tick, errors.Join(userErr, systemErr)
}

// memoryOf returns the memory that a process has now and the most that it had, in bytes.
func memoryOf(pid int) (now, peak int64, err error) {
	name := fmt.Sprintf("/proc/%d/status", pid)
	now, nowErr := field(name, "VmRSS:")
	peak, peakErr := field(name, "VmHWM:")
	return now << 10, peak << 10, errors.Join(nowErr, peakErr)
}

// wakeUpsOf returns how often the threads of a process that live now have been woken.
func wakeUpsOf(pid int) (int64, error) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, t := range threads {
		n, err := field(tasks+"/"+t.Name()+"/status", "voluntary_ctxt_switches:")
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// field reads a number out of a file of names and values.
func field(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}
