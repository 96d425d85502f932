package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// askOnce asks an engine once and returns how long it took: the client's waiting, or what the
// process of the engine used of processors. The latter can be compared where other work runs
// beside, with one thread best.
func (r *race) askOnce(ctx context.Context, e engine, sql string) (time.Duration, error) {
	if !r.processor || e.pid() == 0 {
		a, err := e.ask(ctx, sql)
		return a.took, err
	}
	before, err := processorTime(e.pid())
	if err != nil {
		return 0, err
	}
	if _, err = e.ask(ctx, sql); err != nil {
		return 0, err
	}
	after, err := processorTime(e.pid())
	return after - before, err
}

// processorTime is what the threads of a process that live used of processors, exactly: the sums of
// the whole process are counted in hundredths of seconds.
func processorTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("the system tells no processor time of process [%d]", pid)
	}
	var sum time.Duration
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		used, _, _ := bytes.Cut(text, []byte(" "))
		ns, err := strconv.ParseInt(string(used), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading [%s]: %w", path, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// wholeTime is what a process used of processors, with its threads that have ended, in hundredths
// of seconds.
func wholeTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("the system tells no processor time of process [%d]: %w", pid, err)
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const user, system, tick = 11, 12, 10 * time.Millisecond // places behind the name, and the kernel's unit
	if len(fields) <= system {
		return 0, fmt.Errorf("the system says [%s] of process [%d]", text, pid)
	}
	var sum time.Duration
	for _, at := range []int{user, system} {
		ticks, err := strconv.ParseInt(string(fields[at]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the processor time of process [%d]: %w", pid, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}
